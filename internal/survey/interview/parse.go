package interview

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// said is an answer in the form's terms.
type said struct {
	value   any
	inWords bool // another option is meant, and not said yet
	wrong   string
}

// read understands an answer. Whether it is taken is for the form to say.
func (s *Step) read(text, lang string) said {
	text = strings.TrimSpace(text)
	switch s.how {
	case byYes, byMore:
		i, why := s.pick(text, lang)
		if why != "" {
			return said{wrong: why}
		}
		return s.meant(s.Options[i].Value, i)
	case byOne:
		i, why := s.pick(text, lang)
		if why != "" {
			return said{wrong: why}
		}
		return s.meant(s.Options[i].Value, -1)
	case bySeveral, inOrder:
		return s.several(text, lang)
	}
	if s.other {
		return said{value: text}
	}
	return s.typed(text, lang)
}

// meant is an option that was chosen.
func (s *Step) meant(value string, yes int) said {
	switch {
	case slices.Contains(s.refuses, value):
		return said{value: map[string]any{"noAnswer": strings.TrimPrefix(value, "!")}}
	case value == otherValue:
		return said{inWords: true}
	case yes >= 0:
		return said{value: yes == 0}
	}
	return said{value: value}
}

// Values of options that the template does not have.
const (
	otherValue   = "!other"
	dontKnow     = "!dont_know"
	refusedValue = "!refused"
)

// pick finds the option that a text names: its number, its label or its value,
// or the beginning of one label alone.
func (s *Step) pick(text, lang string) (int, string) {
	if n, err := strconv.Atoi(text); err == nil {
		if n >= 1 && n <= len(s.Options) {
			return n - 1, ""
		}
		if i := slices.IndexFunc(s.Options, func(o Option) bool { return o.Value == text || o.Label == text }); i >= 0 {
			return i, ""
		}
		return 0, wNotShown.in(lang)
	}
	same := func(o Option) bool { return strings.EqualFold(o.Label, text) || strings.EqualFold(o.Value, text) }
	if i := slices.IndexFunc(s.Options, same); i >= 0 {
		return i, ""
	}
	var fit []int
	for i, o := range s.Options {
		if text != "" && strings.HasPrefix(strings.ToLower(o.Label), strings.ToLower(text)) {
			fit = append(fit, i)
		}
	}
	switch {
	case len(fit) == 1:
		return fit[0], ""
	case len(fit) == 0:
		return 0, wNotShown.in(lang)
	}
	var names []string
	for _, i := range fit[:min(len(fit), 5)] {
		names = append(names, s.Options[i].Label)
	}
	return 0, wWhich.in(lang, strings.Join(names, ", "))
}

// several reads some options: "1 3", "1,3", "13" where there are nine or fewer, or
// labels with commas between.
func (s *Step) several(text, lang string) said {
	parts := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ';' })
	if strings.Trim(text, "0123456789 ,;") == "" {
		parts = strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' || r == ';' })
		if len(parts) == 1 && len(s.Options) < 10 {
			parts = strings.Split(parts[0], "")
		}
	}
	chosen, out := []any{}, said{}
	for _, part := range parts {
		i, why := s.pick(strings.TrimSpace(part), lang)
		if why != "" {
			return said{wrong: why}
		}
		one := s.meant(s.Options[i].Value, -1)
		switch value := one.value.(type) {
		case string:
			chosen = append(chosen, value)
		case nil:
			out.inWords = true
		default: // it says why there is no answer
			if len(parts) > 1 {
				return said{wrong: wAlone.in(lang)}
			}
			return one
		}
	}
	if len(parts) == 0 {
		return said{wrong: wNotShown.in(lang)}
	}
	out.value = chosen
	return out
}

// typed reads an answer that is not a choice.
func (s *Step) typed(text, lang string) said {
	k := form.KindOf(s.q.Type)
	for value, w := range map[string]word{dontKnow: wDontKnow, refusedValue: wRefused} {
		if slices.Contains(s.refuses, value) && strings.EqualFold(text, w.in(lang)) {
			return s.meant(value, -1)
		}
	}
	switch {
	case k.Units:
		return s.quantity(text, lang)
	case k.Bounds:
		n, ok := number(text)
		if !ok {
			return said{wrong: strings.TrimSpace(wNumber.in(lang) + " " + bounds(s.q, lang))}
		}
		return said{value: n}
	case k.Day:
		day, ok := date(text)
		if !ok {
			return said{wrong: wDate.in(lang)}
		}
		return said{value: day}
	case k.Clock:
		at, ok := clock(text)
		if !ok {
			return said{wrong: wTime.in(lang)}
		}
		return said{value: at}
	}
	return said{value: text}
}

func (s *Step) quantity(text, lang string) said {
	units := s.q.Units
	if len(units) == 0 {
		units = []string{s.q.Unit}
	}
	amount, unit, _ := strings.Cut(text, " ")
	n, ok := number(amount)
	unit = strings.TrimSpace(unit)
	i := slices.IndexFunc(units, func(u string) bool { return strings.EqualFold(u, unit) })
	if k, err := strconv.Atoi(unit); err == nil && k >= 1 && k <= len(units) {
		i = k - 1
	}
	if unit == "" && len(units) == 1 {
		i = 0
	}
	if !ok || i < 0 {
		return said{wrong: s.Hint}
	}
	return said{value: map[string]any{"value": n, "unit": units[i]}}
}

// number reads a number with a point or a comma before its decimals. 1,000 may be
// one or a thousand, and is neither.
func number(text string) (float64, bool) {
	if _, after, ok := strings.Cut(text, ","); ok {
		if len(after) == 3 || strings.Contains(text, ".") {
			return 0, false
		}
		text = strings.Replace(text, ",", ".", 1)
	}
	if text == "" || strings.Trim(text, "0123456789.-") != "" || strings.HasPrefix(text, ".") {
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil
}

// date reads a day as people type it, or in its stored form.
func date(text string) (string, bool) {
	for _, layout := range []string{"02012006", "2/1/2006", "2.1.2006", "2-1-2006", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.Format(time.DateOnly), true
		}
	}
	return "", false
}

func clock(text string) (string, bool) {
	for _, layout := range []string{"1504", "15:04", "15.04"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.Format("15:04"), true
		}
	}
	return "", false
}
