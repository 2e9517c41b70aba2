package form

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
)

// Nouns of package api, by their names here.
type (
	Difference     = api.TemplateDifference
	TemplateChange = api.TemplateChange
	LanguageReport = api.LanguageReport
	Validations    = api.TemplateValidations
	Validation     = api.TemplateValidation
)

// Template is a questionnaire as its author writes it.
type Template struct {
	TemplateID         string      `json:"templateId,omitzero" minLength:"1" doc:"Identifier of the template; its versions share it." example:"my-baseline"`
	Title              Text        `json:"title,omitzero"`
	Description        Text        `json:"description,omitzero"`
	Stage              string      `json:"stage,omitzero" enum:"baseline,follow-up,monitoring" doc:"The survey stage the template is made for."`
	DefaultLanguage    string      `json:"defaultLanguage,omitzero" doc:"Language of plain texts; en by default." example:"en"`
	Languages          []string    `json:"languages,omitzero" doc:"Languages that the texts should have, at most 20."`
	Sections           []Section   `json:"sections" doc:"At most 100 sections with at most 1,000 questions together."`
	Files              []DataFile  `json:"files,omitzero" doc:"CSV files with choices, or with values that expressions look up; at most 20."`
	Entity             *Entity     `json:"entity,omitzero" doc:"How the answers make a new twin, or change an existing one."`
	Validations        Validations `json:"validations,omitzero"`
	ReviewIntervalDays int         `json:"reviewIntervalDays,omitzero" doc:"How often the suitability of the questions is assessed; 365 by default."`
	Metadata           Object      `json:"metadata,omitzero" doc:"Anything else, kept as it is."`
}

// Language is the default language, en if none is named.
func (t *Template) Language() string {
	if t.DefaultLanguage == "" {
		return "en"
	}
	return t.DefaultLanguage
}

// Section is a part of a template.
type Section struct {
	ID        string     `json:"id" doc:"A letter, then letters, digits and underscores; at most 64." example:"eligibility"`
	Title     Text       `json:"title,omitzero"`
	Hint      Text       `json:"hint,omitzero"`
	Relevant  string     `json:"relevant,omitzero" doc:"CEL expression: the section is asked when it is true."`
	Flag      string     `json:"flag,omitzero" enum:"eligibilityCriteria,socioEconomicData,cookingPatterns,stovePerceptions" doc:"The survey flag that selects the section; a section without one is always asked."`
	Questions []Question `json:"questions"`
}

// Question is one question, or a group or repeat of questions.
type Question struct {
	ID                string       `json:"id" doc:"Unique in its section; the same form as a section id." example:"current_cooking"`
	Name              string       `json:"name,omitzero" doc:"The name another program uses, if it differs from the id: columns of its files are found by this name too. At most 100 characters." example:"name"`
	Type              Type         `json:"type" enum:"single_choice,multiple_choice,number,integer,text,boolean,date,time,datetime,geo,photo,audio,file,barcode,signature,rating,rank,matrix,quantity,household_ref,entity_ref,calculate,note,consent,repeat,group" example:"multiple_choice"`
	Label             Text         `json:"label,omitzero"`
	Hint              Text         `json:"hint,omitzero"`
	Required          Required     `json:"required,omitzero"`
	Relevant          string       `json:"relevant,omitzero" doc:"CEL expression: the question is asked when it is true."`
	Constraint        string       `json:"constraint,omitzero" doc:"CEL expression that must be true for an answer."`
	ConstraintMessage Text         `json:"constraintMessage,omitzero"`
	Calculate         string       `json:"calculate,omitzero" doc:"CEL expression that gives the value of a calculate question."`
	Once              bool         `json:"once,omitzero" doc:"Whether the value is calculated only when the response is first stored; a correction then keeps it."`
	Options           []Option     `json:"options,omitzero" doc:"At most 1,000."`
	OptionsFrom       *OptionsFrom `json:"optionsFrom,omitzero" doc:"The file the options are in, instead of options."`
	ChoiceFilter      string       `json:"choiceFilter,omitzero" doc:"CEL expression that selects the options offered and accepted. choice is the option: choice.value, choice.label, and the members of its data or its row of the file." example:"choice.county == county"`
	Other             bool         `json:"other,omitzero" doc:"Whether {\"other\": \"text\"} may be chosen."`
	DontKnow          bool         `json:"dontKnow,omitzero" doc:"Whether {\"noAnswer\": \"dont_know\"} may be given."`
	Refuse            bool         `json:"refuse,omitzero" doc:"Whether {\"noAnswer\": \"refused\"} may be given."`
	Validation        Validation   `json:"validation,omitzero"`
	Unit              string       `json:"unit,omitzero" doc:"Unit of a number, for people to read." example:"kg"`
	Units             []string     `json:"units,omitzero" doc:"Units a quantity may have."`
	PII               PII          `json:"pii,omitzero" enum:"none,direct,indirect" doc:"Whether the answer identifies a person. Marked answers are shown only to keys with the scope responses:pii; photos, sounds, files and rounded places marked as indirect also to keys with responses:verify."`
	Indicators        []string     `json:"indicators,omitzero" doc:"Indicators the answer feeds." example:"[\"SDG7.1.2\"]"`
	BackCheckClass    int          `json:"backCheckClass,omitzero" minimum:"0" maximum:"3" doc:"1: the answer never changes; 2: it should not; 3: it may; 0: it is not checked."`
	Questions         []Question   `json:"questions,omitzero" doc:"Questions of a group or repeat; at most 4 levels."`
	Rows              []Option     `json:"rows,omitzero" doc:"Rows of a matrix."`
	MinRepeats        int          `json:"minRepeats,omitzero"`
	MaxRepeats        int          `json:"maxRepeats,omitzero" doc:"Largest number of elements, at most 200, which is the default."`
	Default           Value        `json:"default,omitzero" doc:"The answer a form starts with; the server does not fill it in."`
	ReadOnly          bool         `json:"readOnly,omitzero" doc:"Whether the question is read only."`
	List              string       `json:"list,omitzero" doc:"The entity list of the survey that a question of the type entity_ref is answered from, where a form can offer it." example:"stoves"`
	SaveTo            string       `json:"saveTo,omitzero" doc:"The property of the twin that the answer is to become, where the template has an entity." example:"district"`
}

// PII says whether an answer identifies a person.
type PII string

// The marks. No mark is the same as none.
const (
	PIINone     PII = "none"
	PIIDirect   PII = "direct"   // a name, a telephone number
	PIIIndirect PII = "indirect" // a place, a birthday: with others it may
)

// Private reports whether the answer is stored separately.
func (p PII) Private() bool { return p == PIIDirect || p == PIIIndirect }

// Type is the kind of a question.
type Type string

// The types.
const (
	SingleChoice   Type = "single_choice"
	MultipleChoice Type = "multiple_choice"
	Number         Type = "number"
	Integer        Type = "integer"
	FreeText       Type = "text"
	Boolean        Type = "boolean"
	Date           Type = "date"
	Time           Type = "time"
	DateTime       Type = "datetime"
	Geo            Type = "geo"
	Photo          Type = "photo"
	Audio          Type = "audio"
	File           Type = "file"
	Barcode        Type = "barcode"
	Signature      Type = "signature"
	Rating         Type = "rating"
	Rank           Type = "rank"
	Matrix         Type = "matrix"
	Quantity       Type = "quantity"
	HouseholdRef   Type = "household_ref"
	EntityRef      Type = "entity_ref"
	Calculate      Type = "calculate"
	Note           Type = "note"
	Consent        Type = "consent"
	Repeat         Type = "repeat"
	Group          Type = "group"
)

// Object is a JSON object in its original form.
type Object struct{ jsontext.Value }

// IsZero reports whether there is no object.
func (o Object) IsZero() bool { return len(o.Value) == 0 }

// Value is any JSON value in its original form.
type Value struct{ jsontext.Value }

// IsZero reports whether there is no value.
func (v Value) IsZero() bool { return len(v.Value) == 0 }
