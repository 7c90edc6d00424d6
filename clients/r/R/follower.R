# Follows a plan of banditree for one case: asks what to give, takes outcomes late, missing, corrected or overridden.
# docs/travel.md says what every part means; conformance/following.json says what has to come of it.

KNOWN <- c("not again", "give", "treat as", "best of", "hand over", "for good", "rounds", "score", "watch", "outcome", "promise", "fit")
LEAST_CHANCE <- 1e-9 # An outcome that is called impossible has this chance.
refused <- function(...) stop(structure(class = c("refused", "error", "condition"), list(message = paste0(...), call = NULL)))
`%or%` <- function(one, other) if (is.null(one)) other else one
within_ <- function(value, low, high) min(max(value, low), high)
total_of <- function(values) Reduce(`+`, values, 0) # in order: `sum` adds up with more digits than others have
follower <- function(machine, seed = 0, case = 0, without = character()) {
  if (is.character(machine)) machine <- read_json(machine)
  if (!identical(machine$schema, "banditree/machine/1")) refused("This is not a plan of the form banditree/machine/1.")
  rows <- unlist(lapply(machine$pages, function(page) page$rows), recursive = FALSE)
  for (row in rows) for (kind in c(row$gives$kind, row$counts$kind, row$counts$points$kind, machine$on_harm)) {
    if (!kind %in% KNOWN) refused("A line is of a kind not known here: ", kind, ". Upgrade.")
  }
  f <- structure(new.env(), class = "follower")
  list2env(list(machine = machine, seed = seed, case = case, rounds = list()), f)
  f$without <- vapply(without, arm_number, 1L, f = f, USE.NAMES = FALSE)
  f$in_range <- !is.null(machine$rewards$low) && !is.null(machine$rewards$high)
  f$low <- if (f$in_range) machine$rewards$low else 0
  f$width <- if (f$in_range) machine$rewards$high - f$low else 1
  begin(f)
  if (f$stranded) refused("This plan has no page for a case that must not get ", toString(without), ".")
  f
}

resume <- function(machine, session) {
  if (is.character(machine)) machine <- read_json(machine)
  if (is.character(session)) session <- read_json(session)$session
  if (!identical(session$policy, machine$policy)) refused("This is no case of this plan.")
  f <- follower(machine, session$seed, session$case, machine$arms[as.numeric(session$without) + 1])
  f$rounds <- lapply(session$rounds, function(r) {
    list(arm = r$arm + 1L, context = r$context, reward = r$reward %or% NA, overridden = r$overridden,
         tallied = r$tallied, harm = r$harm)
  })
  apply_told(f)
  f
}

open_rounds <- function(f) which(vapply(f$rounds, function(r) is.na(r$reward), NA))
off_plan_rounds <- function(f) which(mapply(function(r, i) {
  r$overridden || (i <= f$applied && !r$tallied && !identical(r$reward, "missing"))
}, f$rounds, seq_along(f$rounds)) == TRUE)
# Pages are counted from 1, rows from 0, as in machine files.
standing <- function(f) list(page = f$number, row = f$row - 1, pulls = f$pulls, total = f$total)
ask <- function(f, n = NULL, context = NULL, available = NULL, wait = TRUE) {
  if (!is.null(n) && !(n >= 1)) refused("n must be at least 1. Got ", n, ".")
  x <- context_of(f, context, own_context(f))
  some <- vapply(available %or% f$machine$arms, arm_number, 1L, f = f)
  mask <- seq_along(f$machine$arms) %in% setdiff(some, c(f$without, f$barred))
  wanted <- n %or% (if (wait) 1 else length(open_rounds(f)) + 1)
  steps <- lapply(utils::head(open_rounds(f), wanted), step, f = f)
  while (length(steps) < wanted) {
    one <- open_round(f, x, mask, wait)
    if (is.null(one$outcome) || is.null(n) || !length(steps)) steps <- c(steps, list(one))
    if (!is.null(one$outcome)) break
  }
  if (is.null(n)) steps[length(steps)] else steps
}

tell <- function(f, reward, round, harm = NULL) {
  entry <- entry_of(f, round)
  value <- checked(f, reward)
  again <- !is.na(entry$reward)
  other <- !identical(entry$reward, value) || !identical(harm %or% entry$harm, entry$harm %or% harm)
  if (again && other) refused("Round ", round, " was already told as ", entry$reward, ". Got ", value, ".")
  f$rounds[[round]][c("reward", "harm")] <- list(value, harm %or% entry$harm)
  if (again) begin(f)
  apply_told(f)
}

override <- function(f, arm, round = NULL, context = NULL) {
  k <- arm_number(arm, f)
  x <- context_of(f, context, own_context(f))
  given <- function(own) list(arm = k, context = own, reward = NA, overridden = TRUE, tallied = FALSE)
  open <- open_rounds(f)
  if (is.null(round) && length(open) > 1) refused("Say which round is overridden.")
  number <- round %or% if (length(open)) open else length(f$rounds) + 1
  if (number > f$machine$horizon && is.null(round)) return(list(round = number, outcome = "horizon_reached"))
  entry <- if (is.null(round) && !length(open)) given(kept(x)) else entry_of(f, number)
  if (!is.na(entry$reward)) refused("Round ", number, " already has its outcome.")
  if (entry$arm == k && !entry$overridden) refused("Round ", number, " is ", arm, " as planned.")
  f$rounds[[number]] <- given(if (is.null(context)) entry$context else kept(x))
  step(f, number)
}

correct <- function(f, reward, round, harm = NULL) {
  entry <- entry_of(f, round)
  value <- checked(f, reward)
  if (is.na(entry$reward)) refused("Round ", round, " has no outcome to correct yet: tell it.")
  f$rounds[[round]][c("reward", "harm")] <- list(value, harm %or% entry$harm)
  begin(f)
  apply_told(f)
}

# What case files keep of a case; write_json writes it.
snapshot <- function(f) {
  rounds <- lapply(f$rounds, function(r) {
    context <- if (!is.null(r$context)) I(r$context)
    one <- list(arm = r$arm - 1, context = context, reward = r$reward, overridden = r$overridden, tallied = r$tallied)
    c(one, if (!is.null(r$harm)) list(harm = r$harm))
  })
  place <- list(place = I(c(f$row - 1, f$pulls)), total = I(f$total))
  arms <- list(pulls = I(f$arm_pulls), sums = I(f$arm_sums))
  state <- list(plan = place, arms = arms, against = I(f$against), fit = I(f$fit))
  about <- list(schema = "banditree/session/1", policy = f$machine$policy, options = setNames(list(), character()))
  about <- c(about, list(horizon = f$machine$horizon, seed = f$seed, case = f$case))
  if (length(f$without)) about$without <- I(sort(f$without) - 1)
  c(about, list(n_applied = f$applied, rounds = rounds, state = if (f$machine$policy == "follow") place else state))
}

begin <- function(f) {
  bar(f, integer())
  f$worth <- max(0, unlist(lapply(f$page$rows, function(row) row$gives$worth)))
  f$target <- match("hand over", vapply(f$page$rows, function(row) row$gives$kind, ""), nomatch = 0L)
  f$by_odds <- (f$machine$fallback$odds %or% 0) > 0 && f$target > 0
  f$applied <- 0
  f$arm_pulls <- f$arm_sums <- numeric(length(f$machine$arms))
  f$against <- f$fit <- numeric(if (f$by_odds) length(f$machine$tasks) else 0)
  enter(f, 1)
}

# Never give these arms: the case goes on at the first row of the page for it, unless it is on that page.
bar <- function(f, arms) {
  f$barred <- arms
  never <- f$machine$arms[c(f$without, arms)]
  pages <- f$machine$pages
  fits <- vapply(pages, function(one) all(unlist(one$missing) %in% never) && !any(unlist(one$gives) %in% never), NA)
  f$stranded <- !any(fits)
  sizes <- ifelse(fits, lengths(lapply(pages, function(one) one$missing)), -1)
  number <- if (f$stranded) f$number %or% 1 else which.max(sizes)
  if (!identical(number, f$number)) enter(f, 1)
  list2env(list(number = number, page = pages[[number]]), f)
}

enter <- function(f, row) list2env(list(row = row, pulls = 0, total = 0), f)
apply_told <- function(f) {
  while (f$applied < length(f$rounds) && !is.na((entry <- f$rounds[[f$applied + 1]])$reward)) {
    x <- context_of(f, entry$context)
    only <- seq_along(f$machine$arms) == entry$arm
    never <- entry$overridden || f$stranded || entry$arm %in% f$barred
    fits <- !never && is.numeric(choose_arm(f, x, only, f$applied + 1)) # the one that is available
    f$rounds[[f$applied + 1]]$tallied <- tallied <- !identical(entry$reward, "missing") && fits
    if (tallied) update_case(f, x, entry$arm, entry$reward)
    bars <- !is.null(f$machine$on_harm) && isTRUE(entry$harm) && !entry$arm %in% f$barred
    if (bars) bar(f, c(f$barred, entry$arm))
    f$applied <- f$applied + 1
  }
  invisible(f)
}

open_round <- function(f, x, mask, wait) {
  number <- length(f$rounds) + 1
  waiting <- length(f$rounds) - f$applied
  none <- function(outcome) list(round = number, outcome = outcome)
  if (number > f$machine$horizon) return(none("horizon_reached"))
  if (f$stranded) return(none("person_needed"))
  late <- if (!is.null(f$machine$on_harm)) Filter(function(r) isTRUE(r$harm), utils::tail(f$rounds, waiting))
  if (length(setdiff(vapply(late, function(r) r$arm, 1L), f$barred))) return(none("outcome_needed"))
  if (!any(mask)) return(none("no_arm_available"))
  if (wait && waiting && waiting >= patience(f)) return(none("outcome_needed"))
  arm <- choose_arm(f, x, mask, number)
  if (is.character(arm)) return(none(arm))
  f$rounds[[number]] <- list(arm = arm, context = kept(x), reward = NA, overridden = FALSE, tallied = FALSE)
  step(f, number)
}

step <- function(f, number) list(round = number, arm = f$machine$arms[[f$rounds[[number]]$arm]])
entry_of <- function(f, round) {
  if (isTRUE(round %in% seq_along(f$rounds))) return(f$rounds[[round]])
  refused("round must be one that was asked. Got ", round, ". Open: ", paste(open_rounds(f), collapse = ", "), ".")
}

arm_number <- function(arm, f) {
  if (is.na(k <- match(arm, f$machine$arms))) refused("An arm must be one of ", toString(f$machine$arms), ". Got ", arm)
  k
}

checked <- function(f, reward) {
  if (identical(reward, "missing")) return(reward)
  about <- f$machine$rewards
  values <- vapply(about$outcomes, function(one) one$value, 1)
  inside <- !length(values) && reward >= (about$low %or% -1e100) && reward <= (about$high %or% 1e100)
  if (!is.numeric(reward) || !(reward %in% values || isTRUE(inside))) refused(reward, " is no outcome of this plan.")
  as.numeric(reward)
}

kept <- function(x) if (length(x) && !anyNA(x)) x
own_context <- function(f) {
  if (!any(vapply(f$machine$features, function(one) isTRUE(one$per_case), NA))) return(NULL)
  recent <- if (length(f$rounds)) f$rounds[(max(f$applied - 100, 0) + 1):length(f$rounds)] # where others look, too
  for (entry in rev(recent)) if (!is.null(entry$context)) return(entry$context)
}

asked_names <- function(f, known = own_context(f)) {
  asked <- Filter(function(one) one$name != "(intercept)" && !(isTRUE(one$per_case) && length(known)), f$machine$features)
  unique(vapply(asked, function(one) one$name, ""))
}

# The context as numbers; NA where it is not known.
context_of <- function(f, given, known = NULL) {
  features <- f$machine$features
  if (is.null(given) && !length(features)) return(numeric())
  if (is.null(given)) return(if (length(known) && !length(asked_names(f, known))) known else NA)
  wrong <- function(what) refused("The context must have a value for ", toString(asked_names(f, known)), ". Wrong: ", toString(what))
  plain <- is.numeric(given) && is.null(names(given))
  if (plain && (!length(features) || length(given) != length(features) || !all(is.finite(given)))) wrong(given)
  if (plain) return(given)
  odd <- c(setdiff(asked_names(f, known), names(given)), setdiff(names(given), asked_names(f, NULL)))
  if (!length(features) || length(odd)) wrong(odd)
  vapply(seq_along(features), function(i) {
    name <- features[[i]]$name
    if (name == "(intercept)") 1 else if (name %in% names(given)) coded(features[[i]], given[[name]]) else known[[i]]
  }, 1)
}

coded <- function(feature, value) {
  odd <- length(feature$levels) && !is.null(feature$level) && !value %in% feature$levels
  if (odd) refused(feature$name, " must be one of ", toString(feature$levels))
  if (!is.null(feature$level)) return(as.numeric(value == feature$level))
  if (!is.finite(number <- suppressWarnings(as.numeric(value)))) refused(feature$name, " must be a number. Got ", value)
  number
}

patience <- function(f) {
  row <- f$page$rows[[f$row]]
  counts <- if (chooses(f)) return(1) else row$counts
  down <- function() ceiling((f$total + counts$floor) / row$fall)
  switch(counts$kind, "for good" = Inf, rounds = counts$rounds - f$pulls, watch = down(),
         score = min(down(), ceiling((counts$ceil - f$total) / row$climb)))
}

chooses <- function(f) {
  kind <- f$page$rows[[f$row]]$gives$kind
  kind == "best of" || (kind == "hand over" && f$machine$fallback$to == "thompson")
}

choose_arm <- function(f, x, mask, round) {
  row <- f$page$rows[[f$row]]
  gives <- row$gives
  if (chooses(f)) return(chosen(f, gives, mask, round))
  arm <- if (gives$kind == "hand over") f$machine$fallback$arm else gives$arm
  if (gives$kind == "hand over" && is.null(arm)) return("person_needed")
  if (anyNA(x) && (gives$kind == "treat as" || identical(row$counts$points$kind, "fit"))) return("context_needed")
  if (gives$kind == "treat as") arm <- treated_as(f, gives$task, x)$arm
  if (mask[k <- match(arm, f$machine$arms)]) k else "arm_not_available"
}

chosen <- function(f, gives, mask, round) {
  key <- c(f$seed, f$case, round)
  expected <- f$worth > 0 && gives$kind == "best of"
  task <- if (expected) drawn_task(f, key) else 0
  among <- which(mask & (task > 0 | is.null(gives$arms) | f$machine$arms %in% gives$arms))
  values <- vapply(among, function(k) {
    place <- match(f$machine$arms[k], gives$arms)
    rate <- if (task > 0) f$machine$fallback$means[[task]][k] else c(unlist(gives$expected)[place], 0)[[1]]
    if (expected) upper_mean(f, rate, k) else drawn_mean(f, k, key)
  }, 1)
  if (length(among)) among[which.max(values)] else "no_arm_available"
}

drawn_task <- function(f, key) {
  if (!length(f$fit)) return(0)
  weights <- exp(f$fit - max(f$fit))
  left <- Reduce(`-`, weights, uniforms(key, 0)[1] * total_of(weights), accumulate = TRUE)
  max(which(left[seq_along(weights)] >= 0))
}

upper_mean <- function(f, rate, k) {
  worth <- f$worth + f$arm_pulls[k]
  mean <- (f$worth * rate + f$arm_sums[k]) / worth
  variance <- if (f$in_range) max((mean - f$low) * (f$low + f$width - mean), 0) else f$machine$rewards$variance
  left <- f$machine$horizon - sum(f$arm_pulls)
  if (left <= worth) mean else mean + sqrt(0.5 * log(left / worth) * variance / (worth + 1))
}

drawn_mean <- function(f, k, key) {
  n <- f$arm_pulls[k]
  draw <- function() f$arm_sums[k] / n + sqrt(f$machine$rewards$variance / n) * normal(uniforms(key, k - 1))
  if (!f$in_range) return(if (n == 0) Inf else draw())
  successes <- (f$arm_sums[k] - f$low * n) / f$width
  one <- gamma_draw(1 + max(successes, 0), key, 2 * (k - 1))
  one / (one + gamma_draw(1 + max(n - successes, 0), key, 2 * (k - 1) + 1))
}

# The best arm of a task at a context, and the chance of success that this promises.
treated_as <- function(f, task, x) {
  for (rule in f$machine$kind_rules) if (rule$task == task) {
    node <- rule$nodes[[1]]
    while (is.null(node$arm)) node <- rule$nodes[[if (x[node$feature] <= node$cut) node$low else node$high]]
    return(list(arm = node$arm, promise = node$promise %or% 0))
  }
  values <- vapply(f$machine$theta[[match(task, f$machine$tasks)]], function(weights) total_of(x * weights), 1)
  list(arm = f$machine$arms[which.max(values)])
}

predicted <- function(f, task, x, k) {
  value <- total_of(x * f$machine$theta[[match(task, f$machine$tasks)]][[k]])
  if (isTRUE(f$machine$rewards$logistic)) return(1 / (1 + exp(-within_(value, -700, 700))))
  if (f$in_range) within_(value, f$low, f$low + f$width) else value
}

update_case <- function(f, x, k, reward) {
  in_doubt <- f$row != f$target && f$by_odds
  if (in_doubt) weigh(f, k, reward)
  f$arm_pulls[k] <- f$arm_pulls[k] + 1
  f$arm_sums[k] <- f$arm_sums[k] + reward
  count(f, x, k, reward)
  if (in_doubt && all(f$against[f$page$rows[[f$row]]$rightly + 1] >= log(f$machine$fallback$odds))) enter(f, f$target)
}

count <- function(f, x, k, reward) {
  row <- f$page$rows[[f$row]]
  counts <- row$counts
  if (counts$kind == "for good") return()
  f$pulls <- f$pulls + 1
  f$total <- f$total + if (counts$kind == "rounds") reward else points(f, counts$points, row$gives, x, k, reward)
  if (counts$kind == "rounds" && f$pulls < counts$rounds) return()
  if (counts$kind == "rounds") return(enter(f, 1 + if (f$total <= counts$at_most + 1e-9) row$low else row$high))
  if ((counts$cap %or% 0) > 0) f$total <- min(f$total, counts$cap)
  if (counts$kind == "score" && f$total >= counts$ceil) enter(f, row$high + 1)
  else if (f$total <= -counts$floor) enter(f, row$low + 1)
}

points <- function(f, by, gives, x, k, reward) {
  if (by$kind == "outcome") return(by$points[1 + sum(reward > unlist(by$cuts))])
  if (by$kind == "fit") {
    ratio <- log_ratio(f, reward, predicted(f, by$favoured, x, k), predicted(f, by$other, x, k))
    return(within_(floor(ratio / by$unit + 0.5), -by$most, by$most))
  }
  promise <- if (length(by$cuts)) treated_as(f, gives$task, x)$promise %or% predicted(f, gives$task, x, k)
  by$rows[[1 + sum((promise %or% 0) >= unlist(by$cuts))]][if (reward > 0.5) 2 else 1]
}

log_ratio <- function(f, reward, first, second) {
  if ((by <- f$machine$rewards)$family == "gaussian") return((first - second) * (reward - (first + second) / 2) / by$sigma^2)
  a <- within_(first, LEAST_CHANCE, 1 - LEAST_CHANCE)
  b <- within_(second, LEAST_CHANCE, 1 - LEAST_CHANCE)
  if (reward > 0.5) log(a) - log(b) else log1p(-a) - log1p(-b)
}

# What one more reward of an arm says against each task, and how well it fits each.
weigh <- function(f, k, reward) {
  n <- f$arm_pulls[k]
  total <- (f$arm_sums[k] - n * f$low) / f$width
  z <- (reward - f$low) / f$width
  variance <- f$machine$rewards$variance
  off <- f$machine$fallback$allow / f$width
  in_range <- function(value) if (f$in_range) within_(value, 0, 1) else value
  for (i in seq_along(f$against)) {
    mean <- (f$machine$fallback$means[[i]][k] - f$low) / f$width
    low <- in_range(mean - off)
    high <- in_range(mean + off)
    odds <- function(sum, n) normal_odds(max(sum - n * high, n * low - sum, 0), n, variance)
    f$against[i] <- f$against[i] +
      if (f$in_range) log_odds_step(total, n, z, low, high) else odds(total + z, n + 1) - odds(total, n)
    if (f$worth == 0) next
    now <- (f$worth * mean + total) / (f$worth + n)
    chance <- z * log(max(now, LEAST_CHANCE)) + (1 - z) * log(max(1 - now, LEAST_CHANCE))
    f$fit[i] <- f$fit[i] + if (f$in_range) chance else -0.5 * (z - now)^2 / (variance * (1 + 1 / (f$worth + n)))
  }
}

# Four well-mixed words from four words (pcg4d of Jarzynski and Olano); two numbers in [0, 1) for each key.
uniforms <- function(key, draw) {
  product <- function(a, b) (((a %/% 65536 * b) %% 2^32) * 65536 + a %% 65536 * b) %% 2^32
  xor <- function(a, b) bitwXor(a %/% 65536, b %/% 65536) * 65536 + bitwXor(a %% 65536, b %% 65536)
  mix <- function(v) {
    for (i in list(c(1, 2, 4), c(2, 3, 1), c(3, 1, 2), c(4, 2, 3))) v[i[1]] <- (v[i[1]] + product(v[i[2]], v[i[3]])) %% 2^32
    v
  }
  v <- (product(c(xor(key[1], 0x243F6A88), key[2], key[3], draw), 1664525) + 1013904223) %% 2^32
  v <- mix(v)
  v <- mix(xor(v, v %/% 65536))
  (v[c(1, 3)] %/% 32 * 67108864 + v[c(2, 4)] %/% 64) / 9007199254740992
}

normal <- function(u) sqrt(-2 * log(1 - u[1])) * cos(2 * pi * u[2])
gamma_draw <- function(shape, key, draw) {
  d <- shape - 1 / 3
  repeat {
    x <- normal(uniforms(key, draw))
    v <- (1 + x / sqrt(9 * d))^3
    u <- uniforms(key, draw + 2^20)[1]
    if (v > 0 && log(1 - u) < 0.5 * x * x + d - d * v + d * log(v)) return(d * v)
    draw <- draw + 2^21
  }
}

log_odds_step <- function(total, n, reward, low, high) {
  guess <- (total + 1) / (n + 2)
  most <- function(total, n) {
    p <- if (n > 0) within_(total / n, low, high) else 0.5
    total * log(max(p, LEAST_CHANCE)) + (n - total) * log(max(1 - p, LEAST_CHANCE))
  }
  reward * log(guess) + (1 - reward) * log(1 - guess) + most(total, n) - most(total + reward, n + 1)
}

normal_odds <- function(excess, n, variance) 0.5 * excess^2 / (variance * (1 + n)) - 0.5 * log(1 + n)
