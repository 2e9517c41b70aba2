package console

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	webpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/test/browser"
)

// say writes a message and sends it by the button.
func (d *desk) say(text string) {
	d.t.Helper()
	d.run("say "+text, chromedp.WaitVisible("#say"), chromedp.SendKeys("#say", text),
		chromedp.WaitEnabled(".say button.primary"), browser.Tap(".say button.primary"))
}

// answered waits until so many answers are there whole.
func (d *desk) answered(n int) {
	d.t.Helper()
	d.run(fmt.Sprintf("wait for %d answers", n), until(fmt.Sprintf(`document.querySelectorAll(".turn[aria-busy=false] .usage").length === %d`, n)))
}

// talk reads something of the oracle as the owner.
func (d *desk) talk(path string, into any) {
	d.t.Helper()
	c := d.server.Client(1)
	defer c.Close()
	a, err := c.Do(d.t.Context(), http.MethodGet, path, nil, "X-API-Key", d.server.Key)
	if err != nil || a.Status != http.StatusOK {
		d.t.Fatalf("GET %s: %v %v", path, a, err)
	}
	if err := a.JSON(into); err != nil {
		d.t.Fatal(err)
	}
}

type talks struct {
	Sessions []struct {
		ID    string `json:"sessionId"`
		Title string `json:"title"`
	} `json:"sessions"`
	Total int `json:"total"`
}

// runs are the runs of the owner, newest first.
func (d *desk) runs() []client.OracleRun {
	d.t.Helper()
	var out []client.OracleRun
	for r, err := range d.owner().Oracle.Runs(d.t.Context(), client.RunQuery{}) {
		if err != nil {
			d.t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// TestChat talks to the oracle: a stream, the line of steps, a failed tool that
// stays open, a page that is loaded anew in the middle of an answer, the stop, and
// the end of a conversation, each found in the API.
func TestChat(t *testing.T) {
	fieldHost(t, func(t *testing.T, d *desk) {
		d.signIn(d.server.Key)
		d.visit("/console/chat")
		d.say("help")
		d.answered(1)
		d.see("I am the built-in offline model of Hearth")
		run := d.runs()[0]
		d.see(fmt.Sprintf("%d tokens in, %d out", run.Tokens.Input, run.Tokens.Output))
		d.say(`/tool count_twins {}`)
		d.answered(2)
		if script[bool](d, `document.querySelector(".steps").open`) || !script[bool](d, `document.querySelector(".steps summary").innerText.startsWith("Used count_twins 1 step")`) {
			t.Error("the steps of an answer do not stand in one closed line")
		}
		d.say(`/tool read_twin {"did":"did:x:nobody"}`)
		d.answered(3)
		if !script[bool](d, `document.querySelector(".steps.failed").open`) {
			t.Error("a tool that failed is folded away")
		}
		if run = d.runs()[0]; len(run.Steps) != 1 || !run.Steps[0].Failed || run.Steps[0].Tool != "read_twin" {
			t.Errorf("steps = %+v, want the one that failed", run.Steps)
		}

		d.say("/slow 100ms 600")
		d.see("word5 ")
		d.run("load it anew", chromedp.Reload(), chromedp.WaitVisible(".stop"))
		d.see("word1 word2 word3")
		d.see("word20 ")
		d.run("stop", browser.Tap(".stop"))
		d.answered(4)
		d.see("Stopped. This is as far as it came.")
		if run = d.runs()[0]; run.Status != "aborted" || run.Join != "" {
			t.Errorf("the run is %+v, want it aborted", run)
		}
		d.run("load it anew", chromedp.Reload())
		d.answered(4)
		d.see("Stopped. This is as far as it came.")

		var list talks
		d.talk("/sessions", &list)
		if list.Total != 1 || list.Sessions[0].Title != "help" {
			t.Fatalf("sessions = %+v, want one with a title", list)
		}
		chromedp.ListenTarget(d.Context, func(ev any) {
			if _, ok := ev.(*webpage.EventJavascriptDialogOpening); ok {
				go func() { _ = chromedp.Run(d.Context, webpage.HandleJavaScriptDialog(true)) }()
			}
		})
		d.run("delete it", chromedp.WaitVisible(".talk button"), chromedp.Evaluate(`document.querySelector(".talk button").click()`, nil))
		d.see("No conversation yet.")
		if d.talk("/sessions", &list); list.Total != 0 {
			t.Errorf("sessions = %+v, want none", list)
		}
	})
}

// TestChatOnce sends one message twice, by two clicks and by two requests with one
// Idempotency-Key: it is said once.
func TestChatOnce(t *testing.T) {
	d := open(t, "127.0.0.1")
	d.signIn(d.server.Key)
	d.visit("/console/chat")
	d.run("send twice", chromedp.SendKeys("#say", "help"),
		chromedp.Evaluate(`(() => { const f = document.querySelector(".say"); f.requestSubmit(); f.requestSubmit(); })()`, nil))
	d.answered(1)
	var list talks
	d.talk("/sessions", &list)
	if list.Total != 1 || len(d.runs()) != 1 {
		t.Fatalf("%d sessions and %d runs, want one of each", list.Total, len(d.runs()))
	}
	d.run("send with one key", chromedp.Evaluate(fmt.Sprintf(`void (async () => {
		const say = () => fetch("/messages/" + encodeURIComponent(%q), { method: "POST", headers: { "Content-Type": "application/json", "X-Hearth-Console": "1", "Idempotency-Key": "twice" }, body: JSON.stringify({ message: "help", stream: true }) });
		const two = await Promise.all([say(), say()]);
		window.two = two.map((a) => a.status + " " + a.headers.get("X-Run-Id"));
	})()`, list.Sessions[0].ID), nil), until(`!!window.two`))
	if two := script[[]string](d, `window.two`); two[0] != two[1] || !strings.HasPrefix(two[0], "200 run_") || len(d.runs()) != 2 {
		t.Errorf("runs %q, %d in all, want one more", two, len(d.runs()))
	}
}

// TestRuns finds a run at work on its page, joins it, and finds its figures there
// when it has ended.
func TestRuns(t *testing.T) {
	d := open(t, "127.0.0.1")
	d.Expect(func(s string) bool { return strings.Contains(s, "401") }) // what was under way when the session ended
	d.signIn(d.server.Key)
	d.visit("/console/chat")
	d.say("/slow 100ms 600")
	d.see("word3 ")
	d.visit("/console/runs")
	d.see("at work")
	d.run("join it", chromedp.Evaluate(`[...document.querySelectorAll("td a")].find((a) => a.innerText === "Join it").click()`, nil), chromedp.WaitVisible(".stop"))
	d.see("word1 word2")
	d.run("stop", browser.Tap(".stop"))
	d.answered(1)
	d.say("/tool count_twins {}")
	d.answered(2)
	run := d.runs()[0]
	d.visit("/console/runs/" + run.ID)
	d.see("count_twins")
	d.until("the tokens", fmt.Sprintf(`document.body.innerText.replaceAll(",", "").includes("%d / %d")`, run.Tokens.Input, run.Tokens.Output))
	d.see("Open the conversation")
	// Whoever may see the runs of others sees no conversation.
	d.run("sign out", browser.Tap(".who button.link"), chromedp.WaitVisible("#key"))
	d.signIn(d.keyOf("manager"))
	d.visit("/console/runs?all=true")
	d.see("stopped")
	d.visit("/console/runs/" + run.ID)
	d.see("count_twins")
	if text := script[string](d, `document.querySelector("main").innerText`); strings.Contains(text, "Open the conversation") {
		t.Errorf("somebody else's run leads to its conversation: %s", text)
	}
}
