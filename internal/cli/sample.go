package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/survey/sampling"
)

func sampleCommands() []command {
	return []command{{
		name: "sample verify", args: "<file>", summary: "Repeat a published draw without a server, and compare (- reads standard input)", run: sampleVerify,
	}}
}

// errNotProven says that a record does not hold.
var errNotProven = errors.New("the draw does not follow from its record")

// sampleVerify checks a record as GET /v1/sampling/designs/{designId}/record gives
// it.
func sampleVerify(_ context.Context, c *call) error {
	if len(c.args) != 1 {
		return errUsage{"verify takes the file of a record"}
	}
	in := c.in
	if c.args[0] != "-" {
		f, err := os.Open(c.args[0])
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	if in == nil {
		return errUsage{"there is nothing to read"}
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("read record: %w", err)
	}
	rec := new(api.SampleRecord)
	if err := json.Unmarshal(text, rec); err != nil {
		return fmt.Errorf("read record: %w", err)
	}
	got, err := sampling.VerifyRecord(rec)
	if err != nil {
		return err
	}
	d := rec.Draw
	tell(c.out, "draw", fmt.Sprintf("%s of design %s, version %d", d.DrawID, d.DesignID, d.Version))
	tell(c.out, "frame", fmt.Sprintf("%d households, %s", d.Population, d.FrameHash))
	tell(c.out, "drawn", fmt.Sprintf("%d, replaced %d", d.Drawn, d.Replaced))
	for _, t := range got.Checks {
		word := "ok"
		if !t.OK {
			word = "WRONG: " + t.Detail
		}
		tell(c.out, t.Name, word)
	}
	for _, r := range got.Remarks {
		tell(c.out, "note", r)
	}
	if !got.Verified {
		return errNotProven
	}
	fmt.Fprintln(c.out, "verified")
	return nil
}
