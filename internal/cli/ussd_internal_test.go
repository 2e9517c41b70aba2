package cli

import (
	"bytes"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
)

// tool runs a command of the USSD line by its name.
func tool(t *testing.T, dir, name string, args ...string) (out string, err error) {
	t.Helper()
	for _, cmd := range ussdCommands() {
		if cmd.name != name {
			continue
		}
		var o bytes.Buffer
		c := &call{out: &o, err: &o}
		fs := flag.NewFlagSet(name, flag.ContinueOnError)
		if cmd.flags != nil {
			c.own = cmd.flags(fs)
		}
		given, err := config.Parse(fs, append(args, "--data-dir", dir))
		if err != nil {
			t.Fatalf("%s %v: %v", name, args, err)
		}
		if c.cfg, err = config.Load(config.Input{Flags: given, ReadFile: os.ReadFile}); err != nil {
			t.Fatal(err)
		}
		c.args = fs.Args()
		err = cmd.run(t.Context(), c)
		return o.String(), err
	}
	t.Fatalf("there is no command %q", name)
	return "", nil
}

// phrase is a server that knows two screens.
func phrase(w http.ResponseWriter, r *http.Request) {
	var b bytes.Buffer
	_, _ = b.ReadFrom(r.Body)
	switch {
	case strings.HasSuffix(r.URL.Path, "/dialog"):
		_, _ = w.Write([]byte("dialog: saved\nneeds: pin\n\n>\n@ preMenu\n\n> {pin}\n"))
	case strings.HasPrefix(r.URL.Path, "/api/ussd/debug/"):
		_, _ = w.Write([]byte(`{"debugInfo":{"path":"preMenu"}}`))
	default:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if strings.Contains(b.String(), `"text":"*"`) {
			_, _ = w.Write([]byte("END Goodbye."))
			return
		}
		_, _ = w.Write([]byte("CON Welcome to Hearth\n1. Know More\n*. Exit"))
	}
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestUSSDTools(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(phrase))
	t.Cleanup(server.Close)
	good := write(t, "good.dialog", ">\n@ preMenu\n~ Welcome\n> *\nEND\n~ Goodbye\n")
	walk := write(t, "walk.dialog", "needs: name\ngateway: africastalking\n> 2*2*{name}*00*48213*48213\n@ accountCreation.creatingAccount\n> 1\n= id: (C[A-Z0-9]{8})\n")
	bad := write(t, "bad.dialog", ">\n~ Farewell\n")
	broken := write(t, "broken.dialog", "hello\n")
	pack := write(t, "pack.yaml", "pack: x\n")
	shipped, err := menu.Source("hearth")
	if err != nil {
		t.Fatal(err)
	}
	twice := write(t, "twice.yaml", strings.NewReplacer("to: login.pin}", "to: login.pine}", "{en: Delivery, sw: Usafirishaji}", "{en: Delivery}").Replace(string(shipped)))
	gateway := write(t, "g.yaml", "gateway: mine\nrequest: {format: json, session: a, phone: b, code: c, text: d}\nreply: {format: text}\n")
	wrong := write(t, "w.yaml", "gateway: mine\nreply: {format: html}\n")
	svg := filepath.Join(t.TempDir(), "menu.svg")
	for _, tt := range []struct{ name, args, out, err string }{
		{"ussd lint", "", "hearth ", ""},
		{"ussd lint", "classic", "0 errors", ""},
		{"ussd lint", pack, "pack.yaml:1:", "the pack has mistakes"},
		{"ussd lint", twice, `no node has the id "login.pine"`, "the pack has mistakes"},
		{"ussd lint", twice, ": error: knowMore (sw): option 3 has no translation", "the pack has mistakes"},
		{"ussd lint", twice, "twice.yaml: 1 mistake that keeps it from being used, 1 error,", "the pack has mistakes"},
		{"ussd lint", "nowhere.yaml", "", `"nowhere.yaml" is neither a shipped pack (hearth, classic) nor a file`},
		{"ussd lint", gateway, "This looks like a file of gateways: hearth ussd gateways " + gateway, "the pack has mistakes"},
		{"ussd lint", "a b", "", "give one pack"},
		{"ussd graph", "", "preMenu", ""},
		{"ussd graph", "classic --lang sw", "Karibu", ""},
		{"ussd graph", "--format svg", "<svg", ""},
		{"ussd graph", "--format svg --output " + svg, "", ""},
		{"ussd graph", "--format png", "", "mermaid or svg"},
		{"ussd graph", "--lang fr", "", "not fr"},
		{"ussd schema", "", "Hearth USSD menu pack", ""},
		{"ussd schema", "--gateways", "Hearth USSD gateway", ""},
		{"ussd schema", "gateways", "", "takes no arguments"},
		{"ussd gateways", "", "africastalking", ""},
		{"ussd gateways", gateway, "/api/ussd/mine", ""},
		{"ussd gateways", wrong, wrong + ":1:1: request: is needed\n" + wrong + ":2:17: reply.format: want text or json\n", "w.yaml: 2 mistakes"},
		{"ussd replay", good, "1 of 1 dialogs passed", ""},
		{"ussd replay", walk + " --pack classic --set name=Amina", "1 of 1 dialogs passed", ""},
		{"ussd replay", good + " --pack nowhere.yaml", "", "nowhere.yaml"},
		{"ussd replay", good + " --coverage", "not visited: ", ""},
		{"ussd replay", good + " --at-least 100", "", "want at least 100 %"},
		{"ussd replay", good + " --url " + server.URL, "1 of 1 dialogs passed", ""},
		{"ussd replay", bad, "FAILED", "1 of 1 dialogs failed"},
		{"ussd replay", broken, "", "broken.dialog:1: want name: value"},
		{"ussd replay", "", "", "give dialog files"},
		{"ussd replay", filepath.Dir(pack), "", "no file that ends in .dialog"},
		{"ussd replay", filepath.Dir(good), "1 of 1 dialogs passed", ""},
		{"ussd save", "s1 --url " + server.URL, "needs: pin", ""},
		{"ussd save", "s1 --url http://127.0.0.1:1", "", "fetch the session"},
		{"ussd save", "", "", "give one session id"},
	} {
		out, err := tool(t, t.TempDir(), tt.name, strings.Fields(tt.args)...)
		if !strings.Contains(out, tt.out) || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s %s = %v\n%s\nwant %q and %q", tt.name, tt.args, err, out, tt.out, tt.err)
		}
	}
	if drawn, err := os.ReadFile(svg); err != nil || !bytes.Contains(drawn, []byte("<svg")) {
		t.Errorf("%s holds no drawing: %v", svg, err)
	}
}

func TestUSSDSim(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(phrase))
	t.Cleanup(server.Close)
	for _, tt := range []struct{ args, in, out, err string }{
		{"", "\n*\n:quit\n", "Goodbye.", ""},
		{"--phone +254700000001 --code *384#", "\n", "+254700000001  *384#", ""},
		{"--lang sw", "\n", "9 for the language sw", ""},
		{"--lang fr", "", "", "no language fr"},
		{"--text both", "", "", "accumulated or latest"},
		{"--gateway nobody", "", "", "there is no gateway"},
		{"--url http://127.0.0.1:1", "\n", "is a server at http://127.0.0.1:1? --url names another", ""},
	} {
		var o bytes.Buffer
		c := &call{out: &o, err: &o}
		fs := flag.NewFlagSet("sim", flag.ContinueOnError)
		s := ussdSimFlags(fs).(*simFlags)
		given, err := config.Parse(fs, append([]string{"--url", server.URL}, strings.Fields(tt.args)...))
		if err != nil {
			t.Fatal(err)
		}
		if c.cfg, err = config.Load(config.Input{Flags: given, ReadFile: os.ReadFile}); err != nil {
			t.Fatal(err)
		}
		err = s.start(t.Context(), c, strings.NewReader(tt.in), false)
		if !strings.Contains(o.String(), tt.out) || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("sim %s = %v\n%s\nwant %q and %q", tt.args, err, o.String(), tt.out, tt.err)
		}
	}
}

// The accounts of an earlier server are taken over and looked after.
func TestUSSDAccounts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := tool(t, dir, "ussd accounts list"); err == nil || !strings.Contains(err.Error(), "there is no store") {
		t.Fatalf("list without a store = %v", err)
	}
	c := &call{out: new(bytes.Buffer), err: new(bytes.Buffer)}
	var err error
	if c.cfg, err = config.Load(config.Input{Flags: map[string]string{"data-dir": dir}, ReadFile: os.ReadFile}); err != nil {
		t.Fatal(err)
	}
	if err := withCore(t.Context(), c, func(core *app.Core) error {
		_, err := core.Auth.Bootstrap(t.Context(), "")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	file := write(t, "old.csv", "customer_id,full_name,email,phone,encrypted_pin,preferred_language\nC1A2B3C4D,Amina,,+254700000001,,eng\nnonsense,,,,,\n")
	for _, tt := range []struct{ name, args, out, err string }{
		{"ussd accounts list", "", "CUSTOMER ID", ""},
		{"ussd accounts import", file + " --legacy-pin-encryption-key 0123456789abcdef0123456789abcdef", "imported  1", "some lines are not accounts"},
		{"ussd accounts import", "nowhere.csv", "", "nowhere.csv"},
		{"ussd accounts list", "", "C1A2B3C4D", ""},
		{"ussd accounts list", "--id c1a2b3c4d", "Amina", ""},
		{"ussd accounts list", "--status odd", "", "active or closed"},
		{"ussd accounts list", "--locked", "CUSTOMER ID", ""},
		{"ussd accounts list", "--numbers", "WRONG PINS", ""},
		{"ussd accounts unlock", "C1A2B3C4D", "is unlocked", ""},
		{"ussd accounts unlock", "C99999999", "", "ACCOUNT_NOT_FOUND"},
		{"ussd accounts hold", "+254700000001 --for 72h", "The number +254700000001 is held until 20", ""},
		{"ussd accounts list", "", "held until 20", ""},
		{"ussd accounts list", "--locked", "C1A2B3C4D", ""},
		{"ussd accounts list", "--numbers", "held", ""},
		{"ussd accounts release", "C1A2B3C4D", "is released", ""},
		{"ussd accounts release", "+254700000001", "is not held", ""},
		{"ussd accounts hold", "c1a2b3c4d", "The number +254700000001 of c1a2b3c4d is held until it is released. All accounts on it are stopped", ""},
		{"ussd accounts list", "--locked", "active  held  ", ""},
		{"ussd accounts unlock", "C1A2B3C4D", "is unlocked.\nThe number is still held: hearth ussd accounts release +254700000001\n", ""},
		{"ussd accounts unlock", "+254700000001", "The number is still held", ""},
		{"ussd accounts list", "--numbers", "until released", ""},
		{"ussd accounts hold", "0700", "", "PHONE_INVALID"},
		{"ussd accounts hold", "C99999999", "", "ACCOUNT_NOT_FOUND"},
		{"ussd accounts hold", "C1A2B3C4D --for -1h", "", "--for is a duration"},
		{"ussd accounts hold", "C1A2B3C4D --for 0", "", "above zero"},
		{"ussd accounts hold", "C1A2B3C4D --for 0s", "", "above zero"},
		{"ussd accounts release", "", "", "give one Customer ID"},
		{"ussd accounts reset", "C1A2B3C4D --show", "PIN     ", ""},
		{"ussd accounts reset", "C1A2B3C4D --show", "The number is still held", ""},
		{"ussd accounts rotate", "", "Every PIN is sealed with the current key", ""},
		{"ussd accounts close", "C1A2B3C4D", "is closed", ""},
		{"ussd accounts reset", "C1A2B3C4D", "", "ACCOUNT_CLOSED"},
		{"ussd accounts list", "--status closed", "C1A2B3C4D", ""},
	} {
		out, err := tool(t, dir, tt.name, strings.Fields(tt.args)...)
		if !strings.Contains(out, tt.out) || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s %s = %v\n%s\nwant %q and %q", tt.name, tt.args, err, out, tt.out, tt.err)
		}
	}
}
