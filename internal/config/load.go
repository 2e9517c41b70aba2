package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

const sourceDefault = "default"

// maxFile bounds the configuration file and every *_FILE secret, in bytes.
const maxFile = 1 << 20

// Input is everything Load looks at.
type Input struct {
	Flags    map[string]string                 // flag name without dashes → text, as Parse returns it
	Env      []string                          // NAME=value, as os.Environ returns it
	Dir      string                            // working folder, "" is the current one
	ReadFile func(name string) ([]byte, error) // os.ReadFile; nil reads no files
	Known    []string                          // further HEARTH_ names other parts of the program read
}

// loader gathers values, sources and problems while Load runs.
type loader struct {
	in       Input
	settings []Setting
	env      map[string]string
	c        *Config
	bad      Problems
	failed   map[string]bool // environment names of settings with a bad value
}

// Load makes the configuration: defaults, then the file, then the
// environment, then the flags. An empty environment variable counts as not
// given. On any mistake it returns Problems with all of them and no Config.
func Load(in Input) (*Config, error) {
	l := &loader{in: in, settings: Settings(), env: map[string]string{}, c: Default(), failed: map[string]bool{}}
	for _, pair := range in.Env {
		if name, text, ok := strings.Cut(pair, "="); ok && text != "" {
			l.env[name] = text
		}
	}
	l.readFile()
	l.readEnv()
	l.readFlags()
	// Checks over several keys run even when a value was bad, so that the
	// reader gets the whole list; they skip the keys already named.
	l.bad = append(l.bad, check(l.c, l.failed)...)
	if err := l.bad.err(); err != nil {
		return nil, err
	}
	resolveModel(&l.c.Model)
	return l.c, nil
}

// apply sets one value. name is how the key was written, source where.
func (l *loader) apply(s Setting, name, source, from, text string) {
	if err := s.set(l.c, text); err != nil {
		l.failed[s.Env] = true
		l.bad = append(l.bad, Problem{
			Key: name, Source: source, Value: quoted(s, text),
			Detail: err.Error() + ": want " + s.rule.want,
		})
		return
	}
	l.c.sources[s.Env] = from
}

func (l *loader) readEnv() {
	known := slices.Clone(l.in.Known)
	known = append(known, configEnv)
	for _, s := range l.settings {
		names := append([]string{s.Env}, s.Aliases...)
		// The first name wins, so an alias is applied before it.
		for _, name := range slices.Backward(names) {
			known = append(known, name)
			if text, ok := l.env[name]; ok {
				l.apply(s, name, "environment", "environment "+name, text)
			}
			if s.Secret {
				known = append(known, name+"_FILE")
				l.readSecretFile(s, name)
			}
		}
	}
	l.unknownEnv(known)
}

// readSecretFile takes a secret from the file NAME_FILE points to, the way
// container and service managers hand secrets over.
func (l *loader) readSecretFile(s Setting, name string) {
	path, ok := l.env[name+"_FILE"]
	if !ok {
		return
	}
	problem := func(value, detail string) {
		l.bad = append(l.bad, Problem{Key: name + "_FILE", Source: "environment", Value: value, Detail: detail})
	}
	if _, both := l.env[name]; both {
		problem("", "is given together with "+name+"; give one of them")
		return
	}
	raw, err := l.read(path)
	if err != nil {
		problem(fmt.Sprintf("%q", path), "cannot be read: "+reason(err))
		return
	}
	l.apply(s, name+"_FILE", "file "+path, "file "+path, strings.TrimRight(string(raw), "\r\n"))
}

// unknownEnv reports unknown HEARTH_ names. Names of the test suite are
// ignored, and plugins have names of their own.
func (l *loader) unknownEnv(known []string) {
	var names []string
	for name := range l.env {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		switch {
		case slices.Contains(known, name), strings.HasPrefix(name, "HEARTH_TEST_"):
		case strings.HasPrefix(name, pluginPrefix):
			l.c.plugins.env = append(l.c.plugins.env, [2]string{name, l.env[name]})
		case strings.HasPrefix(name, "HEARTH_"):
			l.bad = append(l.bad, Problem{
				Key: name, Source: "environment",
				Detail: "is not a setting" + didYouMean(suggest(name, known)),
			})
		case len(name) > 8:
			// Other names belong to other programs, but one or two letters off
			// one of ours is probably a slip.
			const slip = 2
			if best := nearest(name, known, slip); best != "" && distance(name, best) <= slip {
				l.c.notes = append(l.c.notes, fmt.Sprintf("%s in the environment is not a setting%s", name, didYouMean(best)))
			}
		}
	}
}

func (l *loader) readFlags() {
	byFlag := map[string]Setting{}
	flags := []string{configFlag}
	for _, s := range l.settings {
		byFlag[s.Flag()] = s
		flags = append(flags, s.Flag())
	}
	var names []string
	for name := range l.in.Flags {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		s, ok := byFlag[name]
		switch {
		case name == configFlag:
		case ok:
			l.apply(s, "--"+name, "flag", "flag --"+name, l.in.Flags[name])
		default:
			l.bad = append(l.bad, unknownFlag(name, flags))
		}
	}
}

// read reads a file below the working folder, or an absolute one.
func (l *loader) read(name string) ([]byte, error) {
	if l.in.ReadFile == nil {
		return nil, fs.ErrNotExist
	}
	raw, err := l.in.ReadFile(l.path(name))
	if err == nil && len(raw) > maxFile {
		return nil, fmt.Errorf("it is larger than %d bytes", maxFile)
	}
	return raw, err
}

func (l *loader) path(name string) string {
	if filepath.IsAbs(name) || l.in.Dir == "" {
		return name
	}
	return filepath.Join(l.in.Dir, name)
}

// reason is the cause of a file error without the path, which the problem
// names already.
func reason(err error) string {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err.Error()
	}
	return err.Error()
}
