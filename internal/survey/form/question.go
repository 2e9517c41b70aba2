package form

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hearth-dmrv/hearth/internal/check"
)

// nodeName is what other programs call a question, or nothing. Its length is not in
// it: a hundred copies of the classes take 4 MB.
var nodeName = regexp.MustCompile(`^([\p{L}_][\p{L}\p{M}\p{N}_.-]*)?$`)

const maxNodeName = 100 // characters

// question checks one question, without those inside it.
func (c *compiler) question(at string, q *Question) {
	for _, e := range [...]struct{ name, source string }{
		{"/relevant", q.Relevant},
		{"/required", q.Required.When},
		{"/constraint", q.Constraint},
		{"/calculate", q.Calculate},
		{"/choiceFilter", q.ChoiceFilter},
	} {
		c.expression(at+e.name, e.source)
	}
	k := KindOf(q.Type)
	if k == unknownKind {
		code := "not_allowed"
		if q.Type == "" {
			code = "required"
		}
		c.problem(at+"/type", code, "The value must be one of %s.", typeNames())
		return
	}
	if utf8.RuneCountInString(q.Name) > maxNodeName || !nodeName.MatchString(q.Name) {
		c.problem(at+"/name", "invalid", "The value must be a valid XML name: letters, digits, underscores, hyphens and dots, at most 100 together.")
	}
	c.text(at+"/label", q.Label)
	c.text(at+"/hint", q.Hint)
	c.text(at+"/constraintMessage", q.ConstraintMessage)
	c.oneOf(at+"/pii", string(q.PII), "", string(PIINone), string(PIIDirect), string(PIIIndirect))
	if q.BackCheckClass < 0 || q.BackCheckClass > 3 {
		c.problem(at+"/backCheckClass", "out_of_range", "The value must be from 0 to 3.")
	}
	c.words(at+"/indicators", q.Indicators)
	if q.List != "" {
		listRules(c, at+"/list", q.List)
	}
	c.placed(at, q, k)
	c.options(at+"/options", q.Options, q, k.Options)
	c.optionsFrom(at+"/optionsFrom", q)
	c.options(at+"/rows", q.Rows, q, k.Rows)
	c.bounds(at+"/validation", q, k)
	c.nested(at, q, k)
	if d := q.Default.Value; len(d) > MaxText {
		c.problem(at+"/default", "too_long", "The value may have at most %d bytes.", MaxText)
	}
}

// placed refuses members that have no meaning for the type, and asks for those
// it cannot do without.
func (c *compiler) placed(at string, q *Question, k *Kind) {
	for _, m := range [...]struct {
		name         string
		given, right bool
	}{
		{"other", q.Other, k.Other},
		{"dontKnow", q.DontKnow, k.NoAnswer},
		{"refuse", q.Refuse, k.NoAnswer},
		{"options", len(q.Options) > 0, k.Options && q.OptionsFrom == nil},
		{"optionsFrom", q.OptionsFrom != nil, k.Options && !k.Rows && !k.Ordered},
		{"choiceFilter", q.ChoiceFilter != "", k.Options && !k.Rows && !k.Ordered},
		{"rows", len(q.Rows) > 0, k.Rows},
		{"units", len(q.Units) > 0, k.Units},
		{"unit", q.Unit != "", k.Unit},
		{"questions", len(q.Questions) > 0, k.Nested},
		{"calculate", q.Calculate != "", k.Calculated},
		{"once", q.Once, k.Calculated},
		{"minRepeats", q.MinRepeats != 0, k.Repeated},
		{"maxRepeats", q.MaxRepeats != 0, k.Repeated},
		{"default", !q.Default.IsZero(), k.Asked()},
		{"list", q.List != "", k.Twin},
	} {
		if m.given && !m.right {
			c.problem(at+"/"+m.name, "not_allowed", "A question of type %s does not have this member.", q.Type)
		}
	}
	for _, m := range [...]struct {
		name           string
		needed, absent bool
	}{
		{"options", k.Options, len(q.Options) == 0 && q.OptionsFrom == nil},
		{"rows", k.Rows, len(q.Rows) == 0},
		{"units", k.Units, len(q.Units) == 0 && q.Unit == ""},
		{"questions", k.Nested, len(q.Questions) == 0},
		{"calculate", k.Calculated, q.Calculate == ""},
	} {
		if m.needed && m.absent {
			c.problem(at+"/"+m.name, "required", "A question of type %s needs this member.", q.Type)
		}
	}
	c.words(at+"/units", q.Units)
	c.short(at+"/unit", q.Unit, maxWord)
}

// words checks a list of short words, each once.
func (c *compiler) words(at string, words []string) {
	if len(words) > maxListed {
		c.problem(at, "too_many", "There may be at most %d values.", maxListed)
		return
	}
	for i, w := range words {
		where := fmt.Sprintf("%s/%d", at, i)
		if w == "" {
			c.problem(where, "required", "The value may not be empty.")
		} else if slices.Index(words, w) < i {
			c.problem(where, "duplicate", "The value is named twice.")
		}
		c.short(where, w, maxWord)
	}
}

func (c *compiler) options(at string, options []Option, q *Question, allowed bool) {
	k := KindOf(q.Type)
	if !allowed {
		return
	}
	if len(options) > MaxOptions {
		c.problem(at, "too_many", "There may be at most %d.", MaxOptions)
		return
	}
	seen := make(map[string]bool, len(options))
	for i := range options {
		o := &options[i]
		where := fmt.Sprintf("%s/%d", at, i)
		switch {
		case o.Value == "":
			c.problem(where, "required", "The value may not be empty.")
		case seen[o.Value]:
			c.problem(where, "duplicate", "Another entry has this value.")
		case q.Other && o.Value == "other":
			c.problem(where, "reserved", "Expressions see an answer outside the options as the option other; with other set, no option may have this value.")
		case strings.Contains(o.Value, separator) && k.Several:
			c.problem(where, "not_allowed", "A value that is chosen together with others may not hold a semicolon: exports join them with it.")
		case k.Rows && (o.Value == "other" || o.Value == "noAnswer"):
			c.problem(where, "reserved", "A row or option of a matrix may not have this value.")
		}
		seen[o.Value] = true
		c.short(where, o.Value, maxOptionValue)
		c.text(where+"/label", o.Label)
		c.data(where+"/data", o.Data)
		if !finite(o.Score) {
			c.problem(where+"/score", "invalid", "The value must be a number.")
		}
	}
}

// dataForm is the form of the names in the data of an option.
var dataForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

// data checks what filters look at.
func (c *compiler) data(at string, data []map[string]string) {
	if len(data) > maxListed {
		c.problem(at, "too_many", "There may be at most %d.", maxListed)
		return
	}
	for i, row := range data {
		if len(row) > maxListed {
			c.problem(fmt.Sprintf("%s/%d", at, i), "too_many", "There may be at most %d values.", maxListed)
			return
		}
		for _, name := range slices.Sorted(maps.Keys(row)) {
			where := fmt.Sprintf("%s/%d/%s", at, i, check.Escape(name))
			switch {
			case !dataForm.MatchString(name) || slices.Contains(reserved, name):
				c.problem(where, "invalid", "The name must be a letter or underscore, then letters, digits and underscores, at most 64 together.")
			case slices.Contains(choiceMembers, name):
				c.problem(where, "reserved", "Every option already has this name.")
			}
			c.short(where, row[name], maxOptionValue)
		}
	}
}

func (c *compiler) bounds(at string, q *Question, k *Kind) {
	v := q.Validation
	numbers := [...]struct {
		name  string
		value *float64
	}{{"/min", v.Min}, {"/max", v.Max}, {"/step", v.Step}}
	for _, b := range numbers {
		switch {
		case b.value == nil:
		case !k.Bounds:
			c.problem(at+b.name, "not_allowed", "A question of type %s does not have this member.", q.Type)
		case !finite(b.value):
			c.problem(at+b.name, "invalid", "The value must be a number.")
		case k.high > 0 && *b.value != math.Trunc(*b.value):
			c.problem(at+b.name, "invalid", "A rating is an integer.")
		}
	}
	if v.Step != nil && *v.Step <= 0 {
		c.problem(at+"/step", "out_of_range", "The value must be above 0.")
	}
	low, high := v.Min, v.Max
	if k.high > 0 {
		low, high = cmp.Or(low, &k.low), cmp.Or(high, &k.high)
	}
	if low != nil && high != nil && *low > *high {
		c.problem(at+"/max", "out_of_range", "The value must not be below min.")
	}
	c.lengths(at, q, k)
}

func (c *compiler) lengths(at string, q *Question, k *Kind) {
	v := q.Validation
	if (v.Regex != "" || v.MaxLength != 0) && !k.Length {
		c.problem(at, "not_allowed", "A question of type %s has neither regex nor maxLength.", q.Type)
	} else if v.Regex != "" {
		c.pattern(at+"/regex", &v)
	}
	if v.MaxLength < 0 || v.MaxLength > MaxText {
		c.problem(at+"/maxLength", "out_of_range", "The value must be from 1 to %d.", MaxText)
	}
	if (v.MinSelections != 0 || v.MaxSelections != 0) && !k.Selections {
		c.problem(at, "not_allowed", "A question of type %s has neither minSelections nor maxSelections.", q.Type)
		return
	}
	most := len(q.Options)
	if q.OptionsFrom != nil {
		most = MaxOptions
	}
	if q.Other {
		most++
	}
	if v.MinSelections < 0 || v.MinSelections > most {
		c.problem(at+"/minSelections", "out_of_range", "The value must be from 0 to the number of options.")
	}
	if v.MaxSelections < 0 || v.MaxSelections != 0 && v.MaxSelections < v.MinSelections {
		c.problem(at+"/maxSelections", "out_of_range", "The value must not be below minSelections.")
	}
}

func (c *compiler) nested(at string, q *Question, k *Kind) {
	if !k.Repeated {
		return
	}
	if q.MinRepeats < 0 || q.MinRepeats > MaxRepeats {
		c.problem(at+"/minRepeats", "out_of_range", "The value must be from 0 to %d.", MaxRepeats)
	}
	if q.MaxRepeats < 0 || q.MaxRepeats > MaxRepeats {
		c.problem(at+"/maxRepeats", "out_of_range", "The value must be from 1 to %d.", MaxRepeats)
	} else if q.MaxRepeats != 0 && q.MaxRepeats < q.MinRepeats {
		c.problem(at+"/maxRepeats", "out_of_range", "The value must not be below minRepeats.")
	}
}
