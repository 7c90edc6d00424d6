# JSON in base R: objects are named lists, arrays of numbers or of strings are vectors, other arrays lists, null is NULL.

TOKEN <- '"(?:[^"\\\\]|\\\\.)*"|-?[0-9][0-9.eE+-]*|true|false|null|[][{}:,]'

read_json <- function(path) {
  text <- paste(readLines(path, encoding = "UTF-8", warn = FALSE), collapse = "\n")
  found <- gregexpr(TOKEN, text, perl = TRUE, useBytes = TRUE)[[1]] # by bytes: positions in characters are slow
  bytes <- charToRaw(text)
  from <- as.integer(found)
  to <- from + attr(found, "match.length") - 1L
  tokens <- vapply(seq_along(from), function(i) rawToChar(bytes[from[i]:to[i]]), "")
  Encoding(tokens) <- "UTF-8"
  at <- 0L
  following <- function() {
    at <<- at + 1L
    tokens[at]
  }
  value <- function(token) {
    switch(substr(token, 1, 1), "{" = object(), "[" = array(), "\"" = unescaped(token),
           t = TRUE, f = FALSE, n = NULL, as.numeric(token))
  }
  object <- function() {
    made <- list()
    while ((token <- following()) != "}") {
      if (token == ",") next
      following()
      made[unescaped(token)] <- list(value(following()))
    }
    made
  }
  array <- function() {
    made <- list()
    while ((token <- following()) != "]") if (token != ",") made[length(made) + 1L] <- list(value(token))
    plain <- length(made) && (all(vapply(made, is.numeric, NA)) || all(vapply(made, is.character, NA)))
    if (plain && all(lengths(made) == 1L)) unlist(made) else made
  }
  value(following())
}

unescaped <- function(token) {
  text <- substr(token, 2, nchar(token) - 1)
  if (!grepl("\\", text, fixed = TRUE)) return(text)
  parts <- regmatches(text, gregexpr("\\\\u[0-9a-fA-F]{4}|\\\\.|[^\\\\]+", text))[[1]]
  plain <- c("\\n" = "\n", "\\t" = "\t", "\\r" = "\r", "\\b" = "\b", "\\f" = "\f")
  codes <- lapply(parts, function(part) {
    if (substr(part, 1, 2) == "\\u") return(strtoi(substr(part, 3, 6), 16L))
    utf8ToInt(if (part %in% names(plain)) plain[[part]] else sub("^\\\\", "", part))
  })
  codes <- unlist(codes)
  high <- which(codes >= 0xD800 & codes < 0xDC00)
  if (length(high)) {
    codes[high] <- 0x10000 + (codes[high] - 0xD800) * 0x400 + codes[high + 1L] - 0xDC00
    codes <- codes[-(high + 1L)]
  }
  intToUtf8(codes)
}

write_json <- function(x, path) writeLines(enc2utf8(json(x)), path, useBytes = TRUE)

# Arrays are lists without names, or vectors in I().
json <- function(x) {
  if (is.null(x)) return("null")
  if (is.list(x) && !is.null(names(x))) {
    return(sprintf("{%s}", paste(sprintf("%s: %s", vapply(names(x), json, ""), vapply(x, json, "")), collapse = ", ")))
  }
  if (is.list(x) || inherits(x, "AsIs")) {
    return(sprintf("[%s]", paste(vapply(as.list(unclass(x)), json, ""), collapse = ", ")))
  }
  if (is.logical(x)) return(if (is.na(x)) "null" else tolower(x))
  if (is.numeric(x)) return(if (as.numeric(short <- format(x, digits = 15)) == x) short else format(x, digits = 17))
  escaped <- gsub("([\\\\\"])", "\\\\\\1", x)
  sprintf("\"%s\"", gsub("\n", "\\\\n", gsub("\t", "\\\\t", gsub("\r", "\\\\r", escaped))))
}
