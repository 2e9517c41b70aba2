package console

import (
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/test/browser"
)

// preferred is what the oracle has been told to call its user.
func (d *desk) preferred() string {
	d.t.Helper()
	out, err := d.owner().Oracle.Preferences(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	if out == nil {
		return ""
	}
	return out.UserName
}

// TestPlugins finds on the page what the API says of plugins, lets a tool run
// without a question, and takes that back.
func TestPlugins(t *testing.T) {
	d := open(t, "127.0.0.1")
	d.signIn(d.server.Key)
	d.visit("/console/plugins")
	for p, err := range d.owner().Oracle.Plugins(t.Context(), client.PageQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		d.see(p.Summary)
		for _, x := range p.Tools {
			d.see(x.Description)
		}
		for _, r := range p.Routes {
			d.see(r.Method + " " + r.Path)
		}
	}
	var given struct {
		Grants []struct {
			Tool string `json:"tool"`
		} `json:"grants"`
	}
	d.see("Every change is asked about.")
	d.agree()
	d.run("do not ask", browser.Tap(`button[aria-label="Do not ask: set_user_preferences"]`))
	d.see("runs without a question")
	if d.talk("/grants", &given); len(given.Grants) != 1 || given.Grants[0].Tool != "set_user_preferences" {
		t.Fatalf("grants = %+v, want the one the page gave", given)
	}
	d.visit("/console/chat")
	d.say(`/tool set_user_preferences {"userName":"Amina"}`)
	d.answered(1)
	if name := d.preferred(); name != "Amina" {
		t.Errorf("the tool that was granted has set %q", name)
	}
	d.visit("/console/plugins")
	d.click("Ask again")
	d.see("Every change is asked about.")
	if d.talk("/grants", &given); len(given.Grants) != 0 {
		t.Errorf("grants = %+v, want none", given)
	}
}

// TestConfirm has a tool ask whether it may change something: a no changes
// nothing, a yes does exactly what the question showed, and a yes for the conversation
// is asked for no more in it, but in the next. Sub-agents show as steps.
func TestConfirm(t *testing.T) {
	d := open(t, "127.0.0.1")
	d.signIn(d.server.Key)
	d.visit("/console/chat")
	answer := func(name, button string, n int) {
		t.Helper()
		d.say(`/tool set_user_preferences {"userName":"` + name + `"}`)
		d.run("see the question", chromedp.WaitVisible(".ask"))
		d.see("May the oracle run set_user_preferences?")
		d.see(`"userName": "` + name + `"`)
		d.Shot(t, "confirm-"+name)
		d.click(button)
		d.answered(n)
	}
	answer("Amina", "No", 1)
	if name := d.preferred(); name != "" {
		t.Errorf("a no has set %q", name)
	}
	answer("Baraka", "Yes, do it", 2)
	if name := d.preferred(); name != "Baraka" {
		t.Errorf("a yes has set %q, want Baraka", name)
	}
	if n := script[int](d, `document.querySelectorAll(".ask").length`); n != 0 {
		t.Errorf("%d questions are left on the page", n)
	}
	answer("Chebet", "Yes, and all others in this conversation", 3)
	if name := d.preferred(); name != "Chebet" {
		t.Errorf("a yes for the conversation has set %q, want Chebet", name)
	}
	d.say(`/tool set_user_preferences {"userName":"Dalili"}`)
	d.answered(4) // without an answer of ours
	if name := d.preferred(); name != "Dalili" {
		t.Errorf("a tool that was allowed for the conversation has set %q, want Dalili", name)
	}
	d.subAgent(5)
	d.click("New conversation")
	d.answered(0)
	answer("Etyang", "No", 1)
	if name := d.preferred(); name != "Dalili" {
		t.Errorf("a yes for another conversation has set %q", name)
	}
}

// subAgent puts frames of a sub-agent into the next answer, and finds them as its
// steps.
func (d *desk) subAgent(n int) {
	d.t.Helper()
	d.run("put a sub-agent into the next answer", chromedp.Evaluate(`void (() => {
		const ask = window.fetch, frame = (name, data) => "event: " + name + "\ndata: " + JSON.stringify(data) + "\n\n";
		window.fetch = async (path, how) => {
			const answer = await ask(path, how);
			if (!String(path).startsWith("/messages/") || !answer.body) return answer;
			const text = [
				["router.update", {step: "stove-care_agent"}],
				["tool_call", {toolName: "look_up_stove", eventId: "one", args: {serial: "K-7"}, status: "isRunning", agent: "stove-care_agent"}],
				["tool_call", {toolName: "look_up_stove", eventId: "one", args: {serial: "K-7"}, status: "done", output: "cracked", agent: "stove-care_agent"}],
				["router.update", {step: "main_agent"}],
			].map((f) => frame(...f)).join("");
			const both = new TransformStream({ start(c) { c.enqueue(new TextEncoder().encode(text)); } });
			return new Response(answer.body.pipeThrough(both), answer);
		};
	})()`, nil))
	d.say("help")
	d.answered(n)
	d.run("open the steps", chromedp.Evaluate(`void ([...document.querySelectorAll(".steps")].pop().open = true)`, nil))
	d.see("Sub-agent stove-care")
	d.see("by stove-care")
	d.see("cracked")
	d.Shot(d.t, "sub-agent")
}
