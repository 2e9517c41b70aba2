// Package cli is the command line: it finds the command, reads the settings and
// runs it. Commands that work on the store open it themselves, even while a
// server is using it.
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/plugin"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // the command could not be done
	exitUsage  = 2 // the command line or the configuration is wrong
)

// command is one thing the program can do.
type command struct {
	name    string // one to three words
	args    string // what stands after the flags, for help
	summary string
	flags   func(fs *flag.FlagSet) any // the command's own flags; the result is call.own
	run     func(ctx context.Context, c *call) error
}

// call is one use of a command.
type call struct {
	in       io.Reader
	out, err io.Writer
	environ  []string
	version  string
	plugins  []plugin.Plugin
	cfg      *config.Config
	args     []string // after the flags
	own      any      // what command.flags returned
	after    []func() // what to do when the command is over
}

// Program is the command line with everything it uses.
type Program struct {
	Version  string
	In       io.Reader // nil is nothing to read
	Out, Err io.Writer
	Environ  []string
	Plugins  []plugin.Plugin // of the oracle, besides the bundled ones
}

// errUsage marks a command line that makes no sense.
type errUsage struct{ text string }

func (e errUsage) Error() string { return e.text }

// Run finds the command, reads its settings and runs it. It returns the exit
// code: 0, 1 when the command failed, 2 when the command line or the
// configuration is wrong.
func (p *Program) Run(ctx context.Context, args []string) int {
	if len(args) > 0 && (args[0] == "--version" || args[0] == "-version" || args[0] == "-v") {
		args = []string{"version"}
	}
	if len(args) == 0 || args[0] == "help" || isHelp(args[0]) {
		return p.fail(p.help(p.Out, args))
	}
	cmd, rest, err := p.find(args)
	var group errGroup
	if errors.As(err, &group) && (len(args) == group.words() || isHelp(args[group.words()])) {
		p.list(p.Out, group.name+" ")
		return exitOK
	} else if err != nil {
		return p.fail(err)
	}
	fs := flag.NewFlagSet(cmd.name, flag.ContinueOnError)
	c := &call{in: p.In, out: p.Out, err: p.Err, environ: p.Environ, version: p.Version, plugins: p.Plugins}
	if c.in == nil {
		c.in = strings.NewReader("")
	}
	if cmd.flags != nil {
		c.own = cmd.flags(fs)
	}
	own := ownFlags(fs)
	given, err := config.Parse(fs, rest)
	if errors.Is(err, flag.ErrHelp) {
		p.commandHelp(cmd, fs, own)
		return exitOK
	} else if err != nil {
		return p.fail(usageOf(err))
	}
	c.args = fs.Args()
	c.cfg, err = config.Load(config.Input{Flags: given, Env: p.Environ, ReadFile: os.ReadFile})
	if err != nil {
		return p.fail(usageOf(err))
	}
	defer func() {
		for _, f := range c.after {
			f()
		}
	}()
	return p.fail(cmd.run(ctx, c), own...)
}

func isHelp(arg string) bool { return arg == "-h" || arg == "-help" || arg == "--help" }

// errGroup means that the name is the prefix of several commands.
type errGroup struct{ name string }

func (e errGroup) words() int { return strings.Count(e.name, " ") + 1 }

func (e errGroup) Error() string { return "hearth help " + e.name + " lists what can follow it" }

// usageOf marks err as the user's, so that it leads to exitUsage.
func usageOf(err error) error { return errUsage{err.Error()} }

// find matches the longest command name at the start of args.
func (p *Program) find(args []string) (command, []string, error) {
	all := commands()
	for n := min(3, len(args)); n > 0; n-- {
		name := strings.Join(args[:n], " ")
		if i := slices.IndexFunc(all, func(c command) bool { return c.name == name }); i >= 0 {
			return all[i], args[n:], nil
		}
		if slices.ContainsFunc(all, func(c command) bool { return strings.HasPrefix(c.name, name+" ") }) {
			return command{}, nil, errGroup{name}
		}
	}
	return command{}, nil, errUsage{fmt.Sprintf("%q is not a command; hearth help lists them", args[0])}
}

// fail prints err for a person and gives the exit code. A field that is wrong has
// the name of the flag it came from, if it came from one.
func (p *Program) fail(err error, flags ...string) int {
	if err == nil {
		return exitOK
	}
	text := err.Error()
	if f := fault.As(err); f != nil {
		text = f.Message + " (" + f.Code + ")"
		for _, field := range f.Fields {
			name := strings.TrimPrefix(field.Pointer, "/")
			if slices.Contains(flags, name) {
				name = "--" + name
			}
			text += "\n  " + name + ": " + field.Detail
		}
		if f.Err != nil {
			text += "\n  " + f.Err.Error()
		}
	}
	fmt.Fprintln(p.Err, "hearth:", text)
	if errors.As(err, new(errUsage)) || errors.As(err, new(errGroup)) {
		return exitUsage
	}
	return exitFailed
}

// help shows a command, a group of them or all; the error means that there is none of
// the name.
func (p *Program) help(w io.Writer, args []string) error {
	if len(args) > 1 {
		cmd, rest, err := p.find(args[1:])
		switch group := (errGroup{}); {
		case errors.As(err, &group):
			p.list(w, group.name+" ")
			return nil
		case err != nil:
			return err
		case len(rest) > 0 && !isHelp(rest[0]):
			return errUsage{fmt.Sprintf("%q is not a command; hearth help lists them", strings.Join(args[1:], " "))}
		default:
			fs := flag.NewFlagSet(cmd.name, flag.ContinueOnError)
			if cmd.flags != nil {
				cmd.flags(fs)
			}
			p.commandHelp(cmd, fs, ownFlags(fs))
			return nil
		}
	}
	fmt.Fprintln(w, "Hearth runs a household-energy programme: twins, surveys, USSD and an oracle.")
	fmt.Fprintln(w, "\nUsage: hearth <command> [flags]")
	fmt.Fprintln(w, "\nCommands:")
	p.list(w, "")
	fmt.Fprintln(w, "\nhearth help <command> lists its flags. Every setting is a flag, an environment")
	fmt.Fprintln(w, "variable and a key of hearth.yaml; docs/configuration.md has the table.")
	return nil
}

// list shows the commands that begin with prefix.
func (p *Program) list(w io.Writer, prefix string) {
	for _, c := range commands() {
		if strings.HasPrefix(c.name, prefix) {
			fmt.Fprintf(w, "  %-28s %s\n", strings.TrimSpace(c.name+" "+c.args), c.summary)
		}
	}
}

func (p *Program) commandHelp(cmd command, fs *flag.FlagSet, own []string) {
	fmt.Fprintf(p.Out, "%s.\n\nUsage: hearth %s\n", cmd.summary, strings.TrimSpace(cmd.name+" [flags] "+cmd.args))
	if len(own) > 0 {
		fmt.Fprintln(p.Out, "\nFlags of this command:")
	}
	for _, name := range own {
		f := fs.Lookup(name)
		kind, text := flag.UnquoteUsage(f)
		fmt.Fprintf(p.Out, "  %-28s %s\n", strings.TrimSpace("--"+name+" "+kind), text)
	}
	if cmd.name == "serve" || strings.HasPrefix(cmd.name, "config") {
		fmt.Fprintln(p.Out)
		config.Usage(p.Out)
		return
	}
	fmt.Fprintln(p.Out, "\nEvery setting of hearth serve is a flag here too; the usual ones are --data-dir")
	fmt.Fprintln(p.Out, "(HEARTH_DATA_DIR) and --database-url (DATABASE_URL).")
}

// ownFlags lists the flags registered so far.
func ownFlags(fs *flag.FlagSet) []string {
	var names []string
	fs.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	return names
}

// table begins a table with the names of its columns.
func (c *call) table(head string) *tabwriter.Writer {
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, head)
	return w
}

// one is the single argument of a command.
func (c *call) one(what string) (string, error) {
	if len(c.args) != 1 {
		return "", errUsage{"give one " + what}
	}
	return c.args[0], nil
}
