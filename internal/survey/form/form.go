// Package form is the questionnaire: the template document, the form compiled
// from it, the check of answers against that form, and answers as a whole:
// without what was calculated, with other names, as a hash. It is pure: no
// database, no HTTP, no clock. Documents are checked whole, and every problem
// is named by its JSON pointer.
//
// An answer to a question that is not relevant is dropped and noted in
// Result.Dropped, as ODK does: an interviewer who goes back and changes an
// earlier answer leaves such answers behind, and a response must not be
// refused for it. Everything else that does not fit is wrong. Of a partial
// response an answer is only dropped when that is decided: what waits for an
// answer that is missing is kept.
package form
