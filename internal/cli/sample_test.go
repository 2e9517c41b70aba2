package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A published record is verified without a server, and whichever member of it is
// changed, the answer names it.
func TestSampleVerify(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/record.json")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	verify := func(record string) (int, string) {
		t.Helper()
		path := filepath.Join(dir, "record.json")
		if err := os.WriteFile(path, []byte(record), 0o600); err != nil {
			t.Fatal(err)
		}
		code, out, errs := run(t, dir, "sample", "verify", path)
		return code, out + errs
	}
	code, out := verify(string(text))
	for _, want := range []string{"verified\n", "plan         ok", "record       ok", "Compare with the audit log: entry ", "round 36000000 of drand/quicknet"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("%d, and no %q in %s", code, want, out)
		}
	}
	for _, tt := range []struct{ was, is, want string }{
		{`"size":4`, `"size":3`, "plan/strata/0/size"},
		{`"frame":"unit,stratum,cluster\n`, `"frame":"unit,stratum,cluster\nhh_1,rural,\n`, "The SHA-256 of the frame is"},
		{`"firstPart":"`, `"firstPart":"x`, "firstPart"},
		{`"secondPart":"0`, `"secondPart":"1`, "secondPart"},
		{`"secondBy":"`, `"secondBy":"x`, "draw/secondBy"},
		{`"drawnBy":"`, `"drawnBy":"x`, "draw/drawnBy"},
		{`"reason":"As planned"`, `"reason":"As foreseen"`, "draw/reason"},
		{`"name":"Kitui"`, `"name":"Kisii"`, "design"},
		{`"round":36000000`, `"round":36000001`, "second"},
		{`"replacedBy":"`, `"replacedBy":"x`, "replacedBy"},
		{`"reason":"Moved away"`, `"reason":"Refused"`, "differ in reason"},
		{`"place":1,`, `"place":2,`, "sample"},
		{`"replaced":1`, `"replaced":0`, "draw/replaced"},
		{`"type":"sampling.committed"`, `"type":"sampling.drawn"`, "draw/entries/0"},
	} {
		forged := strings.Replace(string(text), tt.was, tt.is, 1)
		if forged == string(text) {
			t.Errorf("the record has no %s", tt.was)
			continue
		}
		if code, out := verify(forged); code != 1 || !strings.Contains(out, "WRONG: ") || !strings.Contains(out, tt.want) {
			t.Errorf("%s: %d, and no %q in %s", tt.is, code, tt.want, out)
		}
	}
	hidden := strings.Replace(string(text), `"drawId":"`, `"drawId":"\u001b[8m`, 1)
	if code, out := verify(hidden); code != 1 || strings.Contains(out, "\x1b") || !strings.Contains(out, `draw         "\x1b[8m`) {
		t.Errorf("a name that a terminal would obey: %d %q", code, out)
	}
	if code, out := verify(`{"format":"other"}`); code != 1 || !strings.Contains(out, "not a record of a draw") {
		t.Errorf("no record: %d %s", code, out)
	}
}
