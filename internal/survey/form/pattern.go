package form

import (
	"cmp"
	"errors"
	"regexp/syntax"
	"unicode/utf8"

	"github.com/hearth-dmrv/hearth/internal/cel"
)

// pattern checks and compiles the regular expression of a question. The same
// one is compiled once, however many questions have it.
func (c *compiler) pattern(at string, v *Validation) {
	if c.heap > maxPatterns {
		return // which was said
	}
	if utf8.RuneCountInString(v.Regex) > maxRegex {
		c.problem(at, "too_long", "The value may have at most %d characters.", maxRegex)
		return
	}
	p, err := c.patterns[v.Regex], error(nil)
	if p == nil {
		// Both must be good: a|b) is not alone, \Qa is only alone.
		if _, err = syntax.Parse(v.Regex, syntax.Perl); err == nil {
			p, err = cel.NewPattern(`\A(?:` + v.Regex + `)\z`)
		}
	}
	switch longest := cmp.Or(v.MaxLength, MaxText); {
	case errors.Is(err, cel.ErrPatternSize):
		c.problem(at, "too_complex", "The expression is too large: %s.", err)
	case err != nil:
		c.problem(at, "invalid", "The value must be an RE2 expression that is valid inside a group: %s.", err)
	case !p.Fits(longest):
		c.problem(at, "too_complex", "It would take too long to match a text of %d characters. Make the repeats smaller, or set maxLength.", longest)
	case c.patterns[v.Regex] == nil:
		c.patterns[v.Regex] = p
		c.weight += p.Weight()
		c.weigh(at, p.Weight())
	}
}

// weigh bounds the memory of regular expressions, those in expressions too.
func (c *compiler) weigh(at string, bytes int) {
	before := c.heap
	if c.heap += bytes; before <= maxPatterns && c.heap > maxPatterns {
		c.problem(at, "too_complex", "The regular expressions of a template are too large together.")
	}
}

// Weight estimates the bytes that the expressions of the form take.
func (f *Form) Weight() int { return f.weight }
