package plugin

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind is the kind of value a setting holds.
type Kind string

// The kinds.
const (
	Text     Kind = "text"     // one line; the default
	Integer  Kind = "integer"  // a whole number from Min to Max
	Boolean  Kind = "boolean"  // true or false
	Duration Kind = "duration" // such as 90s or 24h
	URL      Kind = "URL"      // http or https; Host.HTTP may reach its host wherever it is
	List     Kind = "list"     // texts with commas between them
)

// Setting is one option of a plugin that an operator can set.
type Setting struct {
	Name     string // camelCase: "maxItems" is HEARTH_PLUGIN_<NAME>_MAX_ITEMS in the environment
	Kind     Kind
	Default  string
	Choices  []string // of a text; none: any
	Min, Max int64    // of an integer; both 0: any
	Required bool
	Secret   bool // it is never shown
	Doc      string
}

// reserved are the names of settings that every plugin has: whether it is
// enabled, and when the model has its tools.
var reserved = []string{"enabled", "visibility"}

// Values are the settings of a plugin, checked and with their defaults.
type Values struct{ texts map[string]string }

// Read checks the given settings. The error names every wrong setting, without
// the values of secret ones.
func Read(settings []Setting, given map[string]string) (Values, error) {
	v := Values{map[string]string{}}
	var bad []error
	for _, s := range settings {
		text, ok := given[s.Name]
		if !ok {
			text = s.Default
		}
		if slices.Contains(reserved, s.Name) {
			bad = append(bad, fmt.Errorf("%s: every plugin has a setting of this name", s.Name))
		}
		if why := s.wrong(text); why != "" {
			bad = append(bad, fmt.Errorf("%s: %s", s.Name, why))
		}
		v.texts[s.Name] = strings.TrimSpace(text)
	}
	for name := range given {
		if !slices.Contains(reserved, name) && !slices.ContainsFunc(settings, func(s Setting) bool { return s.Name == name }) {
			bad = append(bad, fmt.Errorf("%s: there is no setting of this name", name))
		}
	}
	slices.SortFunc(bad, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return v, errors.Join(bad...)
}

// wrong says why a text is not valid for the setting.
func (s Setting) wrong(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		if s.Required {
			return "is required"
		}
		return ""
	}
	switch s.Kind {
	case Integer:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || (s.Min != 0 || s.Max != 0) && (n < s.Min || n > s.Max) {
			return s.wantInteger()
		}
	case Boolean:
		if text != "true" && text != "false" {
			return "want true or false"
		}
	case Duration:
		if d, err := time.ParseDuration(text); err != nil || d < 0 {
			return "want a duration such as 90s or 24h"
		}
	case URL:
		if u, err := url.Parse(text); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return "want an address such as https://example.org/path"
		}
	default:
		if len(s.Choices) > 0 && !slices.Contains(s.Choices, text) {
			return "want one of " + strings.Join(s.Choices, ", ")
		}
	}
	return ""
}

func (s Setting) wantInteger() string {
	if s.Min == 0 && s.Max == 0 {
		return "want a whole number"
	}
	return fmt.Sprintf("want a whole number from %d to %d", s.Min, s.Max)
}

// Text is the text of a setting.
func (v Values) Text(name string) string { return v.texts[name] }

// Int is the number of an Integer, 0 without one.
func (v Values) Int(name string) int {
	n, _ := strconv.Atoi(v.texts[name]) // checked by Read
	return n
}

// Bool reports whether a Boolean is true.
func (v Values) Bool(name string) bool { return v.texts[name] == "true" }

// Duration is the time of a Duration, 0 without one.
func (v Values) Duration(name string) time.Duration {
	d, _ := time.ParseDuration(v.texts[name]) // checked by Read
	return d
}

// List are the texts of a List.
func (v Values) List(name string) []string {
	var out []string
	for _, one := range strings.Split(v.texts[name], ",") {
		if one = strings.TrimSpace(one); one != "" {
			out = append(out, one)
		}
	}
	return out
}
