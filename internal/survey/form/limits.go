package form

import "regexp"

// The limits of a template and of answers.
const (
	MaxSections  = 100
	MaxQuestions = 1000      // of a template, those in groups and repeats too
	MaxDepth     = 4         // levels of questions: a question of a section is on the first
	MaxOptions   = 1000      // of a question, and rows of a matrix
	MaxText      = 4000      // characters of a text in a template or an answer
	MaxAnswers   = 256 << 10 // bytes of the answers of a response
	MaxProblems  = 100       // problems named at once
	MaxMasked    = 1000      // pointers in Result.Masked
	MaxRepeats   = 200       // elements of a repeat

	maxCells       = 20_000 // questions in all elements of a response together
	maxLanguages   = 20
	maxOptionValue = 200       // characters
	maxRegex       = 500       // characters
	maxPatterns    = 8 << 20   // bytes of the regular expressions of a template, compiled
	maxListed      = 50        // indicators, units
	maxWord        = 100       // characters of a unit or indicator
	maxMetadata    = 64 << 10  // bytes
	maxExpressions = 256 << 10 // bytes of all expressions of a template
	maxReviewDays  = 3650
	maxMissing     = 100     // pointers in a LanguageReport
	maxChanges     = 1000    // changes in a Difference
	maxCost        = 300_000 // units of all expressions of one check, about 30 ms
	maxViewCost    = 10 * maxCost
)

// separator stands between options that were chosen together in exports.
const separator = ";"

// The forms of ids and language tags.
var (
	idForm       = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,63}$`)
	templateForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)
	languageForm = regexp.MustCompile(`^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$`)
)
