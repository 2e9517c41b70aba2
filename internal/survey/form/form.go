// Package form is the questionnaire: the template document, the form compiled
// from it, the check of answers against that form, and operations on whole sets
// of answers: without calculated values, with other names, as a hash. It is
// pure: no database, no HTTP, no clock. Documents are checked whole, and every
// problem is named by its JSON pointer.
//
// An answer to a question that is not relevant is dropped and noted in
// Result.Dropped, as ODK does: an interviewer who goes back and changes an
// earlier answer leaves such answers behind, and that is no reason to refuse a
// response. Anything else that does not fit is an error. From a partial
// response an answer is dropped only when its relevance is decided: while it
// depends on a missing answer, it is kept.
package form
