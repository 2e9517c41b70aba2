package cli

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"rsc.io/qr"

	"github.com/hearth-dmrv/hearth/api"
)

func collectCommands() []command {
	return []command{{name: "collect qr", summary: "Make an address for a phone with ODK Collect, and show it as a QR code", run: collectQR, flags: collectFlags}}
}

type collectOptions struct {
	access
	name, collector, projects, origin string
	expires                           time.Duration
}

func collectFlags(fs *flag.FlagSet) any {
	o := &collectOptions{}
	o.register(fs, "keys:write and collect:send")
	fs.StringVar(&o.name, "name", "", "what the phone is called (needed)")
	fs.StringVar(&o.collector, "collector", "", "`DID` of the collector; a new one by default, to be named in the survey")
	fs.StringVar(&o.projects, "projects", "", "`DIDs` of the only projects whose surveys it shows, separated by commas")
	fs.StringVar(&o.origin, "origin", "", "`address` of the server as phones reach it; HEARTH_PUBLIC_URL by default")
	fs.DurationVar(&o.expires, "expires-in", 0, "`time` after which it stops working, such as 720h; never by default")
	return o
}

// collectQR makes an address and shows it.
func collectQR(ctx context.Context, c *call) error {
	o := c.own.(*collectOptions)
	if o.name == "" || len(c.args) > 0 {
		return errUsage{"collect qr needs --name and accepts no arguments"}
	}
	at, err := o.dial(ctx, c)
	if err != nil {
		return err
	}
	d := api.CollectAddressDraft{Name: o.name, Collector: o.collector, Projects: list(o.projects), Origin: o.origin}
	if o.expires > 0 {
		d.ExpiresAt = time.Now().Add(o.expires).UTC()
	}
	var a api.CollectAddress
	if err := at.post(ctx, "/v1/collect/addresses", d, &a); err != nil {
		return err
	}
	code, err := qr.Encode(a.Settings, qr.M)
	if err != nil {
		return fmt.Errorf("draw QR code: %w", err)
	}
	drawCode(c.out, code)
	fmt.Fprintf(c.out, "\nkey        %s\ncollector  %s\naddress    %s\n           This is shown once. Scan it in ODK Collect: Configure with QR code.\n           End it with hearth keys revoke %s.\n", a.KeyID, a.Collector, a.URL, a.KeyID)
	return nil
}

// drawCode prints a QR code, two rows of squares in a line: black on white
// whatever the colours of the window are.
func drawCode(w io.Writer, code *qr.Code) {
	const quiet = 2
	for y := -quiet; y < code.Size+quiet; y += 2 {
		var line strings.Builder
		for x := -quiet; x < code.Size+quiet; x++ {
			// Outside the code everything is white.
			switch top, bottom := code.Black(x, y), code.Black(x, y+1); {
			case top && bottom:
				line.WriteString("█")
			case top:
				line.WriteString("▀")
			case bottom:
				line.WriteString("▄")
			default:
				line.WriteString(" ")
			}
		}
		fmt.Fprintf(w, "\x1b[30;47m%s\x1b[0m\n", line.String())
	}
}
