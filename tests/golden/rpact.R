# Writes what rpact says of designs: Rscript rpact.R > rpact.json. tests/designs compares with it.
suppressMessages(library(rpact))
rows <- c()
add <- function(...) rows <<- c(rows, sprintf(...))
list_of <- function(x) paste0("[", paste(format(x, digits = 15, trim = TRUE), collapse = ", "), "]")
for (type in c("P", "OF")) for (sided in 1:2) for (alpha in c(0.025, 0.05)) for (shares in list(
  c(0.5, 1), (1:3) / 3, (1:5) / 5, (1:10) / 10, c(0.2, 0.7, 1)
)) {
  design <- getDesignGroupSequential(
    alpha = alpha, sided = sided, typeOfDesign = type, informationRates = shares, tolerance = 1e-10
  )
  power <- getPowerAndAverageSampleNumber(design, theta = 0.3, nMax = 100)
  add('{"type": "%s", "sided": %d, "alpha": %s, "shares": %s, "critical": %s, "power": %s}',
      type, sided, alpha, list_of(shares), list_of(design$criticalValues), list_of(power$overallReject))
}
one <- getDesignGroupSequential(kMax = 1, alpha = 0.025)
for (n in c(10, 35, 80)) {
  power <- getPowerMeans(
    one, groups = 1, normalApproximation = TRUE, alternative = c(0.1, 0.3, 0.5), stDev = 1, maxNumberOfSubjects = n
  )
  add('{"type": "fixed", "n": %d, "power": %s}', n, list_of(power$overallReject))
}
for (case in list(c(0.2, 0.4), c(0.1, 0.3), c(0.5, 0.7))) {
  size <- getSampleSizeRates(
    getDesignGroupSequential(kMax = 1, alpha = 0.05, beta = 0.2),
    groups = 1, normalApproximation = FALSE, thetaH0 = case[1], pi1 = case[2]
  )
  add('{"type": "exact", "null": %s, "alternative": %s, "n": %d}', case[1], case[2], size$numberOfSubjects[1])
}
cat("[\n  ", paste(rows, collapse = ",\n  "), "\n]\n", sep = "")
