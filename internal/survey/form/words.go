package form

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Text is words for people in one or several languages, by language tag. The
// tag "" means the default language of the template: a plain JSON string
// becomes that.
type Text map[string]string

// Plain is a text in the default language.
func Plain(s string) Text { return Text{"": s} }

// In returns the text in lang, else in fallback, else the plain one, else that
// of the first tag. A tag such as sw-KE finds sw.
func (t Text) In(lang, fallback string) string {
	for _, tag := range [...]string{lang, parent(lang), fallback, parent(fallback), ""} {
		if s, ok := t[tag]; ok && s != "" {
			return s
		}
	}
	for _, tag := range t.Languages() {
		if t[tag] != "" {
			return t[tag]
		}
	}
	return ""
}

func parent(tag string) string {
	for i := range len(tag) {
		if tag[i] == '-' {
			return tag[:i]
		}
	}
	return tag
}

// Languages are the tags of the text in order; "" is the default language.
func (t Text) Languages() []string { return slices.Sorted(maps.Keys(t)) }

// IsZero reports whether there is no text.
func (t Text) IsZero() bool { return len(t) == 0 }

// has reports whether the text exists in lang, the plain one counting as def.
func (t Text) has(lang, def string) bool {
	return t[lang] != "" || lang == def && t[""] != ""
}

// MarshalJSONTo writes a string, or an object of languages in order.
func (t Text) MarshalJSONTo(enc *jsontext.Encoder) error {
	if s, ok := t[""]; ok && len(t) == 1 {
		return enc.WriteToken(jsontext.String(s))
	}
	if err := enc.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for _, tag := range t.Languages() {
		if err := enc.WriteToken(jsontext.String(tag)); err != nil {
			return err
		}
		if err := enc.WriteToken(jsontext.String(t[tag])); err != nil {
			return err
		}
	}
	return enc.WriteToken(jsontext.EndObject)
}

// UnmarshalJSONFrom reads what MarshalJSONTo writes; null is no text.
func (t *Text) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	switch dec.PeekKind() {
	case 'n':
		*t = nil
		return dec.SkipValue()
	case '"':
		tok, err := dec.ReadToken()
		if err != nil {
			return err
		}
		*t = Plain(tok.String())
		return nil
	case '{':
		m := map[string]string{}
		if err := json.UnmarshalDecode(dec, &m); err != nil {
			return err
		}
		*t = m
		return nil
	}
	return wrongKind(dec, "a string or an object of languages")
}

// wrongKindError is a decoder's error about a value of the wrong kind, and says
// what it must be instead.
type wrongKindError string

func (e wrongKindError) Error() string {
	return "the value has the wrong kind: it must be " + string(e)
}

// Wanted is the message about the value for the sender of the request.
func (e wrongKindError) Wanted() string { return string(e) }

func wrongKind(dec *jsontext.Decoder, want string) error {
	if err := dec.SkipValue(); err != nil {
		return err
	}
	return wrongKindError(want)
}

// Required says when a question needs an answer: always, never, or when an
// expression is true.
type Required struct {
	Always bool
	When   string // CEL
}

// IsZero reports whether no answer is needed.
func (r Required) IsZero() bool { return !r.Always && r.When == "" }

// MarshalJSONTo writes a boolean or the expression.
func (r Required) MarshalJSONTo(enc *jsontext.Encoder) error {
	if r.When != "" {
		return enc.WriteToken(jsontext.String(r.When))
	}
	return enc.WriteToken(jsontext.Bool(r.Always))
}

// UnmarshalJSONFrom reads a boolean or an expression; null is false.
func (r *Required) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*r = Required{}
	switch dec.PeekKind() {
	case 'n', 'f':
		return dec.SkipValue()
	case 't':
		r.Always = true
		return dec.SkipValue()
	case '"':
		tok, err := dec.ReadToken()
		if err != nil {
			return err
		}
		r.When = tok.String()
		return nil
	}
	return wrongKind(dec, "a boolean or a CEL expression")
}

// Option is a value to choose, or a row of a matrix.
type Option struct {
	Value     string   `json:"value" example:"wood"`
	Label     Text     `json:"label,omitzero"`
	Exclusive bool     `json:"exclusive,omitzero" doc:"Whether it may only be chosen alone."`
	Score     *float64 `json:"score,omitzero"`
	// Data is the data for a filter. An option with several entries is offered
	// when the filter holds for one of them.
	Data []map[string]string `json:"data,omitzero"`
}

// plainOption is Option without its methods.
type plainOption Option

// MarshalJSONTo writes a string when there is nothing but the value.
func (o Option) MarshalJSONTo(enc *jsontext.Encoder) error {
	if len(o.Label) == 0 && !o.Exclusive && o.Score == nil && len(o.Data) == 0 {
		return enc.WriteToken(jsontext.String(o.Value))
	}
	return json.MarshalEncode(enc, plainOption(o))
}

// UnmarshalJSONFrom reads a string or an object.
func (o *Option) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*o = Option{}
	switch dec.PeekKind() {
	case '"':
		tok, err := dec.ReadToken()
		if err != nil {
			return err
		}
		o.Value = tok.String()
		return nil
	case '{':
		return json.UnmarshalDecode(dec, (*plainOption)(o))
	}
	return wrongKind(dec, "a string or an object with value and label")
}
