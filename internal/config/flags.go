package config

import (
	"flag"
	"fmt"
	"io"
	"strings"
)

// register adds a flag for every setting, and --config, to fs. What a later
// fs.Parse finds is stored in the map it returns, ready for Input.Flags.
func register(fs *flag.FlagSet) map[string]string {
	given := map[string]string{}
	fs.Func(configFlag, "configuration `file`", func(text string) error {
		given[configFlag] = text
		return nil
	})
	for _, s := range Settings() {
		fs.Var(&flagValue{name: s.Flag(), given: given, boolean: s.rule.name == kindBool}, s.Flag(), s.Doc)
	}
	return given
}

// flagValue notes the text of one flag. Load reads it with all other values,
// so that a bad one is reported in the same list.
type flagValue struct {
	name    string
	given   map[string]string
	boolean bool
}

var _ flag.Value = (*flagValue)(nil)

// String is the text that was given. The flag package also asks a zero value.
func (v *flagValue) String() string {
	if v == nil || v.given == nil {
		return ""
	}
	return v.given[v.name]
}

// Set notes text.
func (v *flagValue) Set(text string) error {
	v.given[v.name] = text
	return nil
}

// IsBoolFlag allows --trust-proxy-enabled without a value.
func (v *flagValue) IsBoolFlag() bool { return v.boolean }

// Parse registers all settings in fs, which may hold flags of its own, and
// parses args with it. It returns the values given for settings; fs.Args() has
// the rest. Flags and arguments may be in any order; everything after "--" is
// an argument. Unknown flags and missing values are Problems, all at once, each
// with the flag that was probably meant. Help is flag.ErrHelp, and nothing is
// printed.
func Parse(fs *flag.FlagSet, args []string) (map[string]string, error) {
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	given := register(fs)
	flags, rest, bad := sortArgs(fs, args)
	if err := bad.err(); err != nil {
		return nil, err
	}
	if err := fs.Parse(append(append(flags, "--"), rest...)); err != nil {
		return nil, err
	}
	return given, nil
}

// sortArgs separates flags, with their values, from arguments. It reads them
// like the flag package, without stopping at the first argument or the first
// unknown name.
func sortArgs(fs *flag.FlagSet, args []string) (flags, rest []string, bad Problems) {
	var known []string
	fs.VisitAll(func(f *flag.Flag) { known = append(known, f.Name) })
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			return flags, append(rest, args[i+1:]...), bad
		}
		if len(arg) < 2 || arg[0] != '-' {
			rest = append(rest, arg)
			continue
		}
		flags = append(flags, arg)
		name, _, hasValue := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		f, next := fs.Lookup(name), i+1 < len(args)
		switch {
		case name == "help" || name == "h":
			return []string{"--help"}, nil, nil // help answers before any complaint
		case f == nil:
			bad = append(bad, unknownFlag(name, known))
			if !hasValue && next && !strings.HasPrefix(args[i+1], "-") {
				i++ // most likely its value
			}
		case hasValue || isBool(f):
		case !next:
			bad = append(bad, Problem{Key: "--" + name, Source: "flag", Detail: "has no value"})
		default:
			i++
			flags = append(flags, args[i])
		}
	}
	return flags, rest, bad
}

func isBool(f *flag.Flag) bool {
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

func unknownFlag(name string, known []string) Problem {
	best := suggest(name, known)
	if best != "" {
		best = "--" + best
	}
	return Problem{Key: "--" + name, Source: "flag", Detail: "is not a flag" + didYouMean(best)}
}

// Usage writes the help of all settings: grouped flags with their kind, their
// environment name, default and description.
func Usage(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Configuration file\n  --%s file  (%s)\n        YAML or JSON; else hearth.yaml, hearth.yml or hearth.json in the data folder or here.\n", configFlag, configEnv)
	for _, g := range Groups() {
		fmt.Fprintf(&b, "\n%s\n", g.Title)
		for _, s := range Settings() {
			if s.Group() != g.Key {
				continue
			}
			kind := " " + s.Kind()
			if s.Kind() == kindBool {
				kind = ""
			}
			fmt.Fprintf(&b, "  --%s%s  (%s", s.Flag(), kind, s.Env)
			if s.Default != "" {
				fmt.Fprintf(&b, ", default %s", s.Default)
			}
			fmt.Fprintf(&b, ")\n        %s\n", strings.ReplaceAll(s.Doc, "`", ""))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
