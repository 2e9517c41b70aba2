package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/ops"
	"github.com/hearth-dmrv/hearth/internal/ussd/dialog"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
	"github.com/hearth-dmrv/hearth/internal/ussd/wire"
)

// ussdCommands are the tools of the USSD line.
func ussdCommands() []command {
	return append([]command{
		{name: "ussd sim", summary: "Be a handset: dial a server and walk its menus", run: ussdSim, flags: ussdSimFlags},
		{name: "ussd lint", args: "[pack]", summary: "Look for mistakes in a menu pack: a file or a shipped name", run: ussdLint, flags: ussdLintFlags},
		{name: "ussd graph", args: "[pack]", summary: "Draw a menu pack", run: ussdGraph, flags: ussdGraphFlags},
		{name: "ussd show", args: "[pack]", summary: "Print a menu pack, to make one of your own of it", run: ussdShow},
		{name: "ussd schema", summary: "Print the JSON Schema of menu packs, or of gateways", run: ussdSchema, flags: ussdSchemaFlags},
		{name: "ussd gateways", args: "[file]", summary: "List the gateways and check a file of them", run: ussdGateways},
		{name: "ussd replay", args: "<file>...", summary: "Play dialog files and compare the screens", run: ussdReplay(localUSSD), flags: ussdReplayFlags},
		{name: "ussd save", args: "<session>", summary: "Print a live session as a dialog file, PINs left out", run: ussdSave, flags: ussdSaveFlags},
	}, ussdAccountCommands()...)
}

// line is how a command reaches a server.
type line struct{ url, key, secret string }

func (l *line) register(fs *flag.FlagSet, otherwise string) {
	fs.StringVar(&l.url, "url", "", "`address` of the server; "+otherwise+" by default")
	fs.StringVar(&l.key, "key", "", "API `key` of an operator; not needed on the server's own machine")
	fs.StringVar(&l.secret, "secret", "", "`secret` of the gateway, as USSD_GATEWAY_SECRET has it")
}

// ownServer is said of the address that is used when none is given.
const ownServer = "the one of this configuration"

// base is the address that was given, else that of the configuration.
func (l *line) base(c *call) string {
	if l.url != "" {
		return l.url
	}
	return c.ownAddress("c")
}

// client waits as long as gateways do.
func (l *line) client() dialog.Sender {
	c := &http.Client{Timeout: 15 * time.Second}
	return func(r *http.Request) (*http.Response, error) {
		resp, err := c.Do(r)
		if err != nil {
			return nil, fmt.Errorf("%w; is a server at %s://%s? --url names another", err, r.URL.Scheme, r.URL.Host)
		}
		return resp, nil
	}
}

// gatewaySecret is the given one, else that of the configuration.
func (l *line) gatewaySecret(c *call) string {
	if l.secret != "" {
		return l.secret
	}
	return c.cfg.USSD.GatewaySecret.Reveal()
}

// pack opens the menu pack of an argument, else that of the configuration.
func (c *call) pack(name string) (*menu.Pack, error) {
	if name == "" {
		name = c.cfg.USSD.Menu
	}
	return menu.Open(name, app.MenuKnown())
}

// packName names the pack of a command that takes at most one.
func (c *call) packName() (string, error) {
	switch len(c.args) {
	case 0:
		return c.cfg.USSD.Menu, nil
	case 1:
		return c.args[0], nil
	}
	return "", errUsage{"give one pack, or none for that of the configuration"}
}

// packArg opens the pack of a command that takes at most one.
func (c *call) packArg() (*menu.Pack, error) {
	name, err := c.packName()
	if err != nil {
		return nil, err
	}
	return c.pack(name)
}

type simFlags struct {
	line
	gateway, phone, code, lang, text string
}

func ussdSimFlags(fs *flag.FlagSet) any {
	s := &simFlags{}
	s.register(fs, ownServer)
	fs.StringVar(&s.gateway, "gateway", "", "`name` of the dialect to speak; the documented interface by default")
	fs.StringVar(&s.phone, "phone", "", "`number` of the handset; a new one by default")
	fs.StringVar(&s.code, "code", "", "service `code` to dial; the first of USSD_SERVICE_CODES by default")
	fs.StringVar(&s.lang, "lang", "", "`language` to choose after dialling, such as sw")
	fs.StringVar(&s.text, "text", "", "`form` of the text: accumulated or latest; that of the gateway by default")
	return s
}

func ussdSim(ctx context.Context, c *call) error {
	s := c.own.(*simFlags)
	if len(c.args) > 0 {
		return errUsage{"sim takes no arguments"}
	}
	return s.start(ctx, c, c.in, ops.IsTerminal(c.in) && ops.IsTerminal(c.out))
}

// start runs the handset on some input.
func (s *simFlags) start(ctx context.Context, c *call, in io.Reader, terminal bool) error {
	gateways, err := wire.Open(c.cfg.USSD.GatewaysFile)
	if err != nil {
		return err
	}
	switch wire.Mode(s.text) {
	case "", wire.Accumulated, wire.Latest:
	default:
		return errUsage{"--text is accumulated or latest"}
	}
	if s.code == "" && len(c.cfg.USSD.ServiceCodes) > 0 {
		s.code = c.cfg.USSD.ServiceCodes[0]
	}
	// The menu is only used to choose the language and to know what is secret;
	// the server may have another.
	pack, _ := c.pack("")
	if s.lang != "" && (pack == nil || !pack.Speaks(s.lang)) {
		return errUsage{"the menu has no language " + s.lang}
	}
	return dialog.RunHandset(ctx, dialog.HandsetConfig{
		Phone:    dialog.PhoneConfig{Send: s.client(), Base: s.base(c), Number: s.phone, Code: s.code, Mode: wire.Mode(s.text), Secret: s.gatewaySecret(c)},
		Gateways: gateways, Gateway: s.gateway, Pack: pack, Lang: s.lang, Key: s.key, In: in, Out: c.out, Terminal: terminal,
	})
}

type lintFlags struct {
	gsm7, ucs2 int
	strict     bool
}

func ussdLintFlags(fs *flag.FlagSet) any {
	l := &lintFlags{}
	fs.IntVar(&l.gsm7, "gsm7", 0, "`units` of a screen of plain letters; those of the pack by default")
	fs.IntVar(&l.ucs2, "ucs2", 0, "`units` of a screen of other letters; those of the pack by default")
	fs.BoolVar(&l.strict, "strict", false, "fail on warnings too")
	return l
}

// ussdLint reports everything it can in one run: it checks even an unusable
// file as far as it could be read.
func ussdLint(_ context.Context, c *call) error {
	l := c.own.(*lintFlags)
	name, err := c.packName()
	if err != nil {
		return err
	}
	r, err := menu.ReviewFile(name, app.MenuKnown(), menu.LintOptions{Limits: menu.Limits{GSM7: l.gsm7, UCS2: l.ucs2}})
	if err != nil {
		return err
	}
	for _, p := range r.Problems {
		fmt.Fprintln(c.out, p)
	}
	wrong, minor := 0, 0
	for _, f := range r.Findings {
		fmt.Fprintln(c.out, f)
		if f.Level == menu.LevelError {
			wrong++
		} else {
			minor++
		}
	}
	if p := r.Pack; p != nil {
		fmt.Fprintf(c.out, "%s %s: %s, %s, %s, %s\n", p.Name, p.Version, count(len(p.Nodes()), "node"), count(len(p.Languages), "language"),
			count(wrong, "error"), count(minor, "warning"))
	} else {
		verb := "keep"
		if len(r.Problems) == 1 {
			verb = "keeps"
		}
		fmt.Fprintf(c.out, "%s: %s that %s it from being used, %s, %s\n", name, count(len(r.Problems), "mistake"), verb, count(wrong, "error"), count(minor, "warning"))
	}
	if r.Pack == nil && r.Gateways {
		fmt.Fprintf(c.out, "This looks like a file of gateways: hearth ussd gateways %s\n", name)
	}
	if r.Pack == nil || wrong > 0 || l.strict && minor > 0 {
		return errors.New("the pack has mistakes")
	}
	return nil
}

// count is a number of things.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return strconv.Itoa(n) + " " + thing
}

type graphFlags struct{ format, lang, output string }

func ussdGraphFlags(fs *flag.FlagSet) any {
	g := &graphFlags{}
	fs.StringVar(&g.format, "format", "mermaid", "`form` of the drawing: mermaid or svg")
	fs.StringVar(&g.lang, "lang", "", "`language` of the texts; the pack's first by default")
	fs.StringVar(&g.output, "output", "", "`file` to write; the terminal by default")
	return g
}

func ussdGraph(_ context.Context, c *call) error {
	g := c.own.(*graphFlags)
	p, err := c.packArg()
	if err != nil {
		return err
	}
	if g.lang == "" {
		g.lang = p.Default()
	} else if !p.Speaks(g.lang) {
		return errUsage{fmt.Sprintf("the pack has the languages %s, not %s", strings.Join(p.Languages, ", "), g.lang)}
	}
	var drawn []byte
	switch g.format {
	case "mermaid":
		drawn = []byte(menu.Mermaid(p, g.lang))
	case "svg":
		drawn = menu.SVG(p, g.lang)
	default:
		return errUsage{"--format is mermaid or svg"}
	}
	if g.output != "" {
		return os.WriteFile(g.output, drawn, 0o644) //nolint:gosec // a drawing is for everybody
	}
	_, err = c.out.Write(drawn)
	return err
}

// ussdShow prints the source of a pack.
func ussdShow(_ context.Context, c *call) error {
	name, err := c.packName()
	if err != nil {
		return err
	}
	data, err := menu.Source(name)
	if err != nil {
		return err
	}
	_, err = c.out.Write(data)
	return err
}

type schemaFlags struct{ gateways bool }

func ussdSchemaFlags(fs *flag.FlagSet) any {
	s := &schemaFlags{}
	fs.BoolVar(&s.gateways, "gateways", false, "that of a gateway, as USSD_GATEWAYS_FILE has them")
	return s
}

func ussdSchema(_ context.Context, c *call) error {
	if len(c.args) > 0 {
		return errUsage{"schema takes no arguments"}
	}
	schema := menu.Schema()
	if c.own.(*schemaFlags).gateways {
		schema = wire.Schema()
	}
	_, err := c.out.Write(schema)
	return err
}

func ussdGateways(_ context.Context, c *call) error {
	file := c.cfg.USSD.GatewaysFile
	switch len(c.args) {
	case 0:
	case 1:
		file = c.args[0]
	default:
		return errUsage{"give one file, or none for that of the configuration"}
	}
	set, err := wire.Open(file)
	if wrong, ok := errors.AsType[wire.Problems](err); ok {
		fmt.Fprintln(c.out, wrong)
		return fmt.Errorf("%s: %s", file, count(len(wrong), "mistake"))
	} else if err != nil {
		return err
	}
	tw := c.table("NAME\tTEXT\tROUTE\tTITLE")
	for _, g := range set.List() {
		method := "POST"
		if g.Takes("GET") {
			method = "GET, POST"
		}
		title := g.Title
		if g.Unverified {
			title += " (unverified)"
		}
		fmt.Fprintf(tw, "%s\t%s\t%s /api/ussd/%s\t%s\n", g.Name, g.Mode, method, g.Name, title)
	}
	return tw.Flush()
}

func ussdSaveFlags(fs *flag.FlagSet) any {
	l := &line{}
	l.register(fs, ownServer)
	return l
}

func ussdSave(ctx context.Context, c *call) error {
	session, err := c.one("session id")
	if err != nil {
		return err
	}
	l := c.own.(*line)
	text, err := dialog.Fetch(ctx, dialog.Server{Send: l.client(), Base: l.base(c), Key: l.key}, session)
	if err != nil {
		return err
	}
	_, err = c.out.Write(text)
	return err
}
