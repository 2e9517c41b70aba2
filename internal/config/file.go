package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// How one names the configuration file.
const (
	configEnv  = "HEARTH_CONFIG"
	configFlag = "config"
)

// entry is one value of a configuration file.
type entry struct {
	path []string // server, port
	text string
	list bool // it was a sequence; text holds the items with commas between
	null bool
	line int
}

func (e entry) key() string { return strings.Join(e.path, ".") }

// fileError is a file that is not YAML or JSON at all.
type fileError struct {
	line   int
	detail string
}

func (e fileError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.detail) }

// readFile finds and applies the configuration file.
func (l *loader) readFile() {
	name, raw := l.findFile()
	if name == "" {
		return
	}
	l.c.file = name
	decode := decodeYAML
	if strings.EqualFold(filepath.Ext(name), ".json") {
		decode = decodeJSON
	}
	entries, err := decode(raw)
	if err != nil {
		p := Problem{Key: name, Source: "file", Detail: "cannot be read: " + err.Error()}
		if fe, ok := errors.AsType[fileError](err); ok {
			p.Source, p.Detail = fmt.Sprintf("file, line %d", fe.line), fe.detail
		}
		l.bad = append(l.bad, p)
	}
	l.applyFile(name, entries)
}

// findFile gives the name and bytes of the file: the one that was named, or
// the first of the usual names in the data folder, then in the working folder.
func (l *loader) findFile() (string, []byte) {
	name, source := l.in.Flags[configFlag], "flag"
	if name == "" {
		name, source = l.env[configEnv], "environment"
	}
	if name != "" {
		raw, err := l.read(name)
		if err != nil {
			l.bad = append(l.bad, Problem{
				Key: configEnv, Source: source, Value: fmt.Sprintf("%q", name),
				Detail: "cannot be read: " + reason(err),
			})
			return "", nil
		}
		return name, raw
	}
	return l.searchFile()
}

func (l *loader) searchFile() (found string, content []byte) {
	seen := map[string]bool{}
	for _, dir := range []string{l.dataDir(), "."} {
		for _, base := range []string{"hearth.yaml", "hearth.yml", "hearth.json"} {
			name := filepath.Join(dir, base)
			if seen[name] {
				continue
			}
			seen[name] = true
			raw, err := l.read(name)
			switch {
			case errors.Is(err, fs.ErrNotExist):
			case err != nil:
				l.bad = append(l.bad, Problem{Key: name, Source: "file", Detail: "cannot be read: " + reason(err)})
			case found == "":
				found, content = name, raw
			default:
				l.c.notes = append(l.c.notes, fmt.Sprintf("%s is not read, since %s comes first", name, found))
			}
		}
	}
	return found, content
}

// dataDir is the data folder as far as it is known before the file is read.
func (l *loader) dataDir() string {
	if dir := l.in.Flags["data-dir"]; dir != "" {
		return dir
	}
	if dir := l.env["HEARTH_DATA_DIR"]; dir != "" {
		return dir
	}
	return l.c.Data.Dir
}

func (l *loader) applyFile(name string, entries []entry) {
	byKey := map[string]Setting{}
	for _, s := range l.settings {
		byKey[s.Key] = s
	}
	for _, e := range entries {
		at := fmt.Sprintf("file %s line %d", name, e.line)
		problem := func(value, detail string) {
			l.bad = append(l.bad, Problem{Key: e.key(), Source: at, Value: value, Detail: detail})
		}
		s, ok := byKey[e.key()]
		switch {
		case e.path[0] == "plugins":
			if !l.c.plugins.add(e) {
				problem("", "is not valid: want plugins, then the plugin's name, then its settings")
			}
		case !ok:
			problem("", "is not a setting"+didYouMean(l.suggestKey(e)))
		case e.null:
			problem("", "has no value: give one or remove the line")
		case e.list && !s.rule.list:
			problem("", "is a list: want "+s.rule.want)
		default:
			l.apply(s, e.key(), at, at, e.text)
		}
	}
}

// suggestKey guesses the intended file key: by environment name, by last part
// or by similarity.
func (l *loader) suggestKey(e entry) string {
	last := e.path[len(e.path)-1]
	var keys []string
	for _, s := range l.settings {
		if slices.Contains(append([]string{s.Env, s.Flag()}, s.Aliases...), last) || strings.HasSuffix(s.Key, "."+last) {
			return s.Key
		}
		keys = append(keys, s.Key)
	}
	return suggest(e.key(), keys)
}
