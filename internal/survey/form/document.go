package form

import (
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/hearth-dmrv/hearth/internal/check"
)

// reserved are names that expressions need for themselves: those of CEL and
// ours. A section cannot be called so, for it would hide them.
var reserved = []string{
	"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let",
	"loop", "package", "namespace", "return", "var", "void", "while",
}

// ours are names with a meaning of their own in expressions. Questions may have
// these names, but are then reached through their section only.
var ours = []string{"household", "response", "today", "index", "math"}

// flags are the parts of a template that a survey may select.
var flags = []string{"", "eligibilityCriteria", "socioEconomicData", "cookingPatterns", "stovePerceptions"}

// document checks all that can be said without compiling expressions.
func (c *compiler) document() {
	t := c.t
	if t.TemplateID != "" && !templateForm.MatchString(t.TemplateID) {
		c.problem("/templateId", "invalid", "The value must begin with a letter or digit and have at most 100 letters, digits, dots, dashes and underscores.")
	}
	c.oneOf("/stage", t.Stage, "", "baseline", "follow-up", "monitoring")
	c.text("/title", t.Title)
	c.text("/description", t.Description)
	c.languages()
	if n := t.ReviewIntervalDays; n < 0 || n > maxReviewDays {
		c.problem("/reviewIntervalDays", "out_of_range", "The value must be from 0 to %d.", maxReviewDays)
	}
	if m := t.Metadata.Value; len(m) > 0 && (m.Kind() != '{' || len(m) > maxMetadata) {
		c.problem("/metadata", "invalid", "The value must be an object of at most %d bytes.", maxMetadata)
	}
	c.fileRules()
	c.sectionRules()
	entityRules(c)
	c.validationRules()
}

func (c *compiler) oneOf(at, s string, allowed ...string) {
	if !slices.Contains(allowed, s) {
		c.problem(at, "not_allowed", "The value must be one of %s.", listed(allowed))
	}
}

// listed joins words, without the empty one.
func listed(words []string) string {
	out := ""
	for _, w := range words {
		if w != "" && out != "" {
			out += ", "
		}
		out += w
	}
	return out
}

func (c *compiler) languages() {
	t := c.t
	if t.DefaultLanguage != "" && !languageForm.MatchString(t.DefaultLanguage) {
		c.problem("/defaultLanguage", "invalid", "The value must be a language tag such as en or sw-KE.")
	}
	if len(t.Languages) > maxLanguages {
		c.problem("/languages", "too_many", "There may be at most %d languages.", maxLanguages)
		return
	}
	for i, tag := range t.Languages {
		at := fmt.Sprintf("/languages/%d", i)
		switch {
		case !languageForm.MatchString(tag):
			c.problem(at, "invalid", "The value must be a language tag such as en or sw-KE.")
		case slices.Index(t.Languages, tag) < i:
			c.problem(at, "duplicate", "The language is named twice.")
		}
	}
}

// text checks one text in all its languages.
func (c *compiler) text(at string, t Text) {
	if len(t) > maxLanguages {
		c.problem(at, "too_many", "A text may have at most %d languages.", maxLanguages)
		return
	}
	for _, tag := range t.Languages() {
		where := at
		if tag != "" || len(t) > 1 {
			where = at + "/" + check.Escape(tag)
			if !languageForm.MatchString(tag) {
				c.problem(where, "invalid", "The name must be a language tag such as en or sw-KE.")
			}
		}
		c.short(where, t[tag], MaxText)
	}
}

func (c *compiler) short(at, s string, most int) {
	if len(s) > most && utf8.RuneCountInString(s) > most {
		c.problem(at, "too_long", "The value may have at most %d characters.", most)
	}
	if !clean(s) {
		c.problem(at, "invalid", "The value holds a character that is not allowed.")
	}
}

// clean reports whether a text is UTF-8 without NUL, which databases cannot store.
func clean(s string) bool {
	for i := range len(s) {
		if s[i] == 0 {
			return false
		}
	}
	return utf8.ValidString(s)
}

func (c *compiler) sectionRules() {
	t := c.t
	if len(t.Sections) == 0 {
		c.problem("/sections", "required", "A template needs at least one section.")
	}
	if len(t.Sections) > MaxSections {
		c.tooMuch("/sections", "too_many", "There may be at most %d sections.", MaxSections)
		return
	}
	seen := map[string]bool{}
	for i := range t.Sections {
		s := &t.Sections[i]
		at := fmt.Sprintf("/sections/%d", i)
		c.id(at+"/id", s.ID, seen, "Two sections have this id.")
		if slices.Contains(ours, s.ID) || slices.Contains(basicNames, s.ID) {
			c.problem(at+"/id", "reserved", "Expressions reserve this name. Choose another one.")
		}
		c.text(at+"/title", s.Title)
		c.text(at+"/hint", s.Hint)
		c.expression(at+"/relevant", s.Relevant)
		c.oneOf(at+"/flag", s.Flag, flags...)
		if len(s.Questions) == 0 {
			c.problem(at+"/questions", "required", "A section needs at least one question.")
		}
		c.questionRules(s.Questions, place{at: at + "/questions", depth: 1, seen: map[string]bool{}})
	}
}

// basicNames are CEL's names of types; a question may have one, for there are
// stoves with a type, but a section would hide it everywhere.
var basicNames = []string{"bool", "bytes", "double", "dyn", "int", "list", "map", "null_type", "string", "type", "uint"}

func (c *compiler) id(at, id string, seen map[string]bool, twice string) {
	switch {
	case id == "":
		c.problem(at, "required", "This member is required.")
	case !idForm.MatchString(id):
		c.problem(at, "invalid", "The value must be a letter, then letters, digits and underscores, at most 64 together.")
	case slices.Contains(reserved, id):
		c.problem(at, "reserved", "Expressions reserve this name. Choose another one.")
	case seen[id]:
		c.problem(at, "duplicate", "%s", twice)
	}
	seen[id] = true
}

// expression checks the size of an expression; its content is checked later.
func (c *compiler) expression(at, source string) {
	before := c.written
	c.written += len(source)
	if before <= maxExpressions && c.written > maxExpressions {
		c.tooMuch(at, "too_long", "The expressions of a template may have at most %d bytes together.", maxExpressions)
	}
}

func (c *compiler) validationRules() {
	v := c.t.Validations
	if !(v.CompletionThreshold >= 0 && v.CompletionThreshold <= 1) {
		c.problem("/validations/completionThreshold", "out_of_range", "The value must be a fraction from 0 to 1.")
	}
	for i, id := range v.RequiredSections {
		at := fmt.Sprintf("/validations/requiredSections/%d", i)
		if i >= MaxSections {
			c.problem(at, "too_many", "There may be at most %d sections.", MaxSections)
			return
		}
		switch {
		case !slices.ContainsFunc(c.t.Sections, func(s Section) bool { return s.ID == id }):
			c.problem(at, "unknown", "The template has no section of this id.")
		case slices.Index(v.RequiredSections, id) < i:
			c.problem(at, "duplicate", "The section is named twice.")
		}
	}
}

// place is where a list of questions stands.
type place struct {
	at    string
	depth int
	seen  map[string]bool // ids of the section
}

func (c *compiler) questionRules(questions []Question, p place) {
	if len(questions) > 0 && p.depth > MaxDepth {
		c.tooMuch(p.at, "too_deep", "Questions may nest at most %d levels.", MaxDepth)
		return
	}
	for i := range questions {
		if c.questions++; c.questions > MaxQuestions {
			if c.questions == MaxQuestions+1 {
				c.tooMuch(fmt.Sprintf("%s/%d", p.at, i), "too_many", "A template may have at most %d questions.", MaxQuestions)
			}
			return
		}
		at := fmt.Sprintf("%s/%d", p.at, i)
		c.id(at+"/id", questions[i].ID, p.seen, "Two questions of the section have this id.")
		c.question(at, &questions[i])
		c.questionRules(questions[i].Questions, place{at: at + "/questions", depth: p.depth + 1, seen: p.seen})
	}
}

// finite reports whether a bound is a number one can compare with.
func finite(f *float64) bool { return f == nil || !math.IsNaN(*f) && !math.IsInf(*f, 0) }
