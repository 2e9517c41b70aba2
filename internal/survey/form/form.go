// Package form is the questionnaire: the template document, the form compiled
// from it, and the check of answers against that form. It is pure: no
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

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/survey/form/document"
)

// The template document. See package document.
type (
	// Template is a questionnaire as its author writes it.
	Template = document.Template
	// Validations are the rules of a whole response.
	Validations = document.Validations
	// Section is a part of a template.
	Section = document.Section
	// Question is one question, or a group or repeat of questions.
	Question = document.Question
	// Validation bounds the answers of one question.
	Validation = document.Validation
	// Option is a value to choose, or a row of a matrix.
	Option = document.Option
	// Required tells when a question needs an answer.
	Required = document.Required
	// Text is words for people in one or several languages.
	Text = document.Text
	// Type is the kind of a question.
	Type = document.Type
	// PII tells whether an answer identifies a person.
	PII = document.PII
	// Object is a JSON object kept as it was given.
	Object = document.Object
	// Value is any JSON value kept as it was given.
	Value = document.Value
	// Difference is what changed between two templates.
	Difference = document.Difference
	// TemplateChange is one change of a template.
	TemplateChange = document.TemplateChange
	// LanguageReport tells how complete a template is in one language.
	LanguageReport = document.LanguageReport
	// Change is one answer that differs.
	Change = document.Change
)

// The types of questions, the marks of personal data and the verdicts.
const (
	SingleChoice   = document.SingleChoice
	MultipleChoice = document.MultipleChoice
	Number         = document.Number
	Integer        = document.Integer
	FreeText       = document.FreeText
	Boolean        = document.Boolean
	Date           = document.Date
	Time           = document.Time
	DateTime       = document.DateTime
	Geo            = document.Geo
	Photo          = document.Photo
	Audio          = document.Audio
	File           = document.File
	Barcode        = document.Barcode
	Signature      = document.Signature
	Rating         = document.Rating
	Rank           = document.Rank
	Matrix         = document.Matrix
	Quantity       = document.Quantity
	HouseholdRef   = document.HouseholdRef
	EntityRef      = document.EntityRef
	Calculate      = document.Calculate
	Note           = document.Note
	Consent        = document.Consent
	Repeat         = document.Repeat
	Group          = document.Group

	PIINone     = document.PIINone
	PIIDirect   = document.PIIDirect
	PIIIndirect = document.PIIIndirect

	Identical  = document.Identical
	Compatible = document.Compatible
	Breaking   = document.Breaking

	MaxRepeats = document.MaxRepeats
)

// Plain is a text in the default language.
func Plain(s string) Text { return document.Plain(s) }

// Diff compares two templates: what a pinned response or an export would
// notice. The id of the template is not compared.
func Diff(old, new *Template) Difference { return document.Diff(old, new) }

// Compare tells which answers differ between two answer objects, question by
// question in order of their pointers. The whole of a group or repeat is one
// question. What is not an object has no answers.
func Compare(old, new jsontext.Value) []Change { return document.Compare(old, new) }

// Merge puts the public and the private part of answers together again, as
// Result.Answers was. Either may be empty.
func Merge(public, private jsontext.Value) (jsontext.Value, error) {
	return document.Merge(public, private)
}
