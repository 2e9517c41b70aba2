package config

import (
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Setting describes one key, from the tags of a field of Config. Settings
// returns the table of all of them.
type Setting struct {
	Env     string   // environment name: PORT, HEARTH_DATA_DIR
	Aliases []string // other environment names that are understood
	Key     string   // place in the file: server.port; the part before the dot is the group
	Default string   // as one would write it
	Doc     string   // one sentence, and what 0 or an empty value means
	Secret  bool     // masked wherever it is shown; may be given as <Env>_FILE

	rule  rule
	field []int // of Config
}

// Flag is the name of the setting's flag without dashes: the environment name
// without HEARTH_, in lower case, with dashes.
func (s Setting) Flag() string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(s.Env, "HEARTH_")), "_", "-")
}

// Group is the first part of the file key.
func (s Setting) Group() string {
	group, _, _ := strings.Cut(s.Key, ".")
	return group
}

// Kind is the sort of value, as the generated table names it.
func (s Setting) Kind() string { return s.rule.name }

// Want says which values are accepted; it completes "want …".
func (s Setting) Want() string { return s.rule.want }

// Choices lists the values of a setting that has only a few, else nothing.
func (s Setting) Choices() []string { return slices.Clone(s.rule.words) }

// set gives the setting a value, written as text.
func (s Setting) set(c *Config, text string) error {
	v, err := s.rule.parse(text)
	if err != nil {
		return err
	}
	reflect.ValueOf(c).Elem().FieldByIndex(s.field).Set(reflect.ValueOf(v))
	return nil
}

// get is the value of the setting, as one would write it.
func (s Setting) get(c *Config) string {
	return s.rule.format(reflect.ValueOf(c).Elem().FieldByIndex(s.field).Interface())
}

// Group is a heading of the generated table and the help text.
type Group struct {
	Key   string // in the file
	Title string
}

// Groups lists the groups in the order they are shown.
func Groups() []Group { return slices.Clone(table().groups) }

// Settings is the table of all settings in the order they are shown.
func Settings() []Setting { return slices.Clone(table().settings) }

// tags is what the tags of Config say.
type tags struct {
	groups   []Group
	settings []Setting
}

var table = sync.OnceValue(func() *tags {
	var t tags
	t.read(reflect.TypeFor[Config](), Group{}, nil)
	return &t
})

// read adds the fields of a group. A field with a title is a group itself.
func (t *tags) read(of reflect.Type, group Group, at []int) {
	for i := range of.NumField() {
		f := of.Field(i)
		tag, index := f.Tag, append(slices.Clone(at), i)
		switch key := tag.Get("file"); {
		case tag.Get("title") != "":
			inner := Group{key, tag.Get("title")}
			t.groups = append(t.groups, inner)
			t.read(f.Type, inner, index)
		case key != "":
			s := Setting{
				Env: tag.Get("env"), Key: group.Key + "." + key, Default: tag.Get("default"), Doc: tag.Get("doc"),
				Secret: f.Type == reflect.TypeFor[Secret](), rule: ruleOf(tag.Get("is")), field: index,
			}
			if name := tag.Get("alias"); name != "" {
				s.Aliases = []string{name}
			}
			t.settings = append(t.settings, s)
		}
	}
}
