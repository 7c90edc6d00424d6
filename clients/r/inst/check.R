# Follows all cases of a conformance file and says where an answer differs: Rscript check.R following.json [kept.json]
library(banditree)
given <- commandArgs(trailingOnly = TRUE)
kept <- list()
events <- wrong <- 0

done <- function(f, e) {
  switch(e$do, tell = { tell(f, e$reward, e$round, e$harm); NULL }, correct = { correct(f, e$reward, e$round, e$harm); NULL },
         override = list(override(f, e$arm, e$round, e$context)),
         ask = ask(f, e$n, e$context, e$available, if (is.null(e$wait)) TRUE else e$wait))
}

plain <- function(steps) lapply(steps, function(s) paste(s$round, s$arm, s$outcome))

for (part in read_json(given[1])$plans) for (case in part$cases) {
  f <- follower(part$machine, case$seed, case$case, as.character(unlist(case$without)))
  for (e in case$events) {
    refused <- FALSE
    steps <- tryCatch(done(f, e), refused = function(problem) {
      refused <<- TRUE
      NULL
    })
    events <- events + 1
    same <- identical(plain(steps), plain(e$steps)) && identical(refused, isTRUE(e$refused)) &&
      all(unlist(standing(f)) == unlist(e$at)) && identical(as.numeric(open_rounds(f)), as.numeric(unlist(e$open)))
    if (!same) {
      wrong <- wrong + 1
      cat(part$about, ", ", case$name, ": event ", e$do, " gave ", unlist(plain(steps)), " at ", unlist(standing(f)), "\n", sep = " ")
      break
    }
  }
  if (!identical(as.numeric(off_plan_rounds(f)), as.numeric(unlist(case$off_plan)))) wrong <- wrong + 1
  kept[[length(kept) + 1]] <- snapshot(f)
}
if (length(given) > 1) write_json(kept, given[2])
cat(events, "events,", wrong, "wrong\n")
quit(status = if (wrong) 1 else 0)
