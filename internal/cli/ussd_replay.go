package cli

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/ussd/dialog"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
	"github.com/hearth-dmrv/hearth/internal/ussd/wire"
)

// Local starts the USSD area in this process on a temporary store, with the
// settings of cfg that a menu needs and without rate limits. It returns the
// handler of requests and a function that stops it.
type Local func(ctx context.Context, cfg *config.Config) (http.Handler, func(), error)

// dialogExt is how names of dialog files end.
const dialogExt = ".dialog"

type replayFlags struct {
	line
	set      settings
	coverage bool
	least    int
	menu     string
}

func ussdReplayFlags(fs *flag.FlagSet) any {
	r := &replayFlags{}
	r.register(fs, "a server of its own, on an empty store")
	fs.Var(&r.set, "set", "`name=value` of a variable that dialogs need, such as pin=48213; may be repeated")
	fs.BoolVar(&r.coverage, "coverage", false, "report which nodes of the menu no dialog visited")
	fs.IntVar(&r.least, "at-least", 0, "fail when fewer `percent` of the nodes were visited")
	fs.StringVar(&r.menu, "pack", "", "menu `pack` of the server; that of the configuration by default")
	return r
}

// settings are name=value pairs.
type settings map[string]string

// String is for the flag package.
func (s *settings) String() string { return "" }

// Set takes one pair.
func (s *settings) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return errors.New("want name=value")
	}
	if *s == nil {
		*s = settings{}
	}
	(*s)[name] = value
	return nil
}

// ussdReplay plays dialogs against a server, or against one of its own.
func ussdReplay(start Local) func(context.Context, *call) error {
	return func(ctx context.Context, c *call) error {
		r := c.own.(*replayFlags)
		dialogs, err := readDialogs(c.args)
		if err != nil {
			return err
		}
		gateways, err := wire.Open(c.cfg.USSD.GatewaysFile)
		if err != nil {
			return err
		}
		run := &dialog.Runner{Send: r.client(), Base: r.url, Gateways: gateways, Secret: r.gatewaySecret(c), Key: r.key, Vars: r.set}
		if r.menu != "" {
			c.cfg.USSD.Menu = r.menu
		}
		if r.coverage || r.least > 0 || r.url == "" {
			if run.Pack, err = c.pack(""); err != nil {
				return err
			}
		}
		if r.url == "" {
			handler, stop, err := start(ctx, c.cfg)
			if err != nil {
				return fmt.Errorf("start a server: %w", err)
			}
			defer stop()
			run.Send = dialog.Direct(handler)
		}
		return r.play(ctx, c, run, dialogs)
	}
}

// play runs the dialogs one after the other and reports.
func (r *replayFlags) play(ctx context.Context, c *call, run *dialog.Runner, dialogs []*dialog.Dialog) error {
	visits, failed := map[string]int{}, 0
	several := map[string]int{} // dialogs of a file
	for _, d := range dialogs {
		several[d.File]++
	}
	for _, d := range dialogs {
		out, err := run.Run(ctx, d)
		if err != nil {
			return err
		}
		word := "ok"
		if !out.OK() {
			word = "FAILED"
			failed++
		}
		name := d.File
		if several[d.File] > 1 {
			name += ": " + cmp.Or(d.Title, "line "+strconv.Itoa(d.Steps[0].Line))
		}
		fmt.Fprintf(c.out, "%-6s  %s (%d steps)\n", word, name, out.Steps)
		for _, p := range out.Problems {
			fmt.Fprintln(c.out, "  "+strings.ReplaceAll(p.String(), "\n", "\n  "))
		}
		for id, n := range out.Visits {
			visits[id] += n
		}
	}
	fmt.Fprintf(c.out, "%d of %d dialogs passed.\n", len(dialogs)-failed, len(dialogs))
	if r.coverage || r.least > 0 {
		cover := dialog.Cover(run.Pack, visits)
		fmt.Fprintf(c.out, "%d of %d nodes of %s were visited (%d %%).\n", cover.Visited, cover.Nodes, cover.Pack, cover.Percent())
		for _, id := range cover.Missing {
			fmt.Fprintln(c.out, "  not visited: "+id)
		}
		if cover.Percent() < r.least {
			return fmt.Errorf("%d %% of the nodes were visited, want at least %d %%", cover.Percent(), r.least)
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d dialogs failed", failed, len(dialogs))
	}
	return nil
}

// readDialogs reads files and all .dialog files in folders. It reports all
// mistakes at once.
func readDialogs(args []string) ([]*dialog.Dialog, error) {
	if len(args) == 0 {
		return nil, errUsage{"give dialog files, or folders of them"}
	}
	var files []string
	for _, arg := range args {
		err := filepath.WalkDir(arg, func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() && (path == arg || filepath.Ext(path) == dialogExt) {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if len(files) == 0 {
		return nil, errors.New("there is no file that ends in " + dialogExt)
	}
	var out []*dialog.Dialog
	var wrong []error
	for _, file := range files {
		data, err := menu.ReadFile(file)
		if err != nil {
			return nil, err
		}
		all, err := dialog.Parse(file, data)
		out, wrong = append(out, all...), append(wrong, err)
	}
	return out, errors.Join(wrong...)
}
