package console

import (
	"net/http"
	"strings"
	"testing"

	webpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/hearth-dmrv/hearth/client"
)

// vectors are texts that run something in a page that takes them for markup, or
// that lead somewhere when they are taken for a link.
var vectors = []string{
	`<script>window.__x=1</script>`, `<img src=x onerror="window.__x=1">`, `"><svg/onload=window.__x=1>`, `<iframe srcdoc="<script>parent.__x=1</script>">`,
	`[click](javascript:window.__x=1)`, `[click](JaVaScRiPt:window.__x=1)`, `[click](data:text/html,<script>window.__x=1</script>)`, `[click](vbscript:x)`,
	`[click](//evil.example/x)`, `[click](/sessions)`, `[click](/console\..\evil)`, "[click](java\tscript:window.__x=1)", `![x](javascript:window.__x=1)`,
	`javascript:window.__x=1`, "`<b onmouseover=window.__x=1>`", `**<i onclick=window.__x=1>x</i>**`, `| <img src=x onerror=window.__x=1> | b |`,
	`# <style>*{display:none}</style>`, `- </li></ul><script>window.__x=1</script>`, `<a href="javascript:window.__x=1">x</a>`, `https://evil.example/"onmouseover="window.__x=1`,
	`${window.__x=1}`, `{{constructor.constructor("window.__x=1")()}}`, `<math><mtext></mtext><script>window.__x=1</script></math>`, "\u202e<script>window.__x=1</script>",
}

// TestHostileChat shows vectors as what somebody said, as answers, as what tools
// gave, as names of files and as titles: each is text, nothing runs, and no link
// leads anywhere but to the web and into the console.
func TestHostileChat(t *testing.T) {
	d := open(t, "127.0.0.1")
	chromedp.ListenTarget(d.Context, func(ev any) {
		if e, ok := ev.(*webpage.EventJavascriptDialogOpening); ok {
			t.Errorf("a dialog opened: %s", e.Message)
		}
	})
	c := d.server.Client(1)
	defer c.Close()
	send := func(path string, body any) {
		t.Helper()
		a, err := c.Do(t.Context(), http.MethodPost, path, body, "X-API-Key", d.server.Key)
		if err != nil || a.Status >= 300 {
			t.Fatalf("POST %s: %+v %v", path, a, err)
		}
	}
	var list talks
	for i := range 3 {
		send("/sessions", nil)
		d.talk("/sessions", &list)
		id := list.Sessions[0].ID
		for n, v := range vectors {
			if i == 2 || n%3 != i { // the third is for what tools give
				continue
			}
			send("/messages/"+id, map[string]any{"message": "/echo " + v, "attachments": []map[string]string{{"eventId": "$x", "filename": strings.ReplaceAll(v, "/", "_"), "mimetype": "text/plain"}}})
			send("/messages/"+id, map[string]string{"message": v})
		}
	}
	for n, v := range vectors {
		_, err := d.owner().Entities.Create(t.Context(), client.EntityDraft{Type: "Hostile", Protocol: "did:ixo:protocol/household", Properties: map[string]any{"district": v}})
		if err != nil {
			t.Logf("vector %d is refused: %v", n, err) // then it cannot be shown
		}
	}
	send("/messages/"+list.Sessions[0].ID, map[string]string{"message": `/tool search_twins {"type":"Hostile"}`})
	send("/messages/"+list.Sessions[0].ID, map[string]string{"message": `list Hostile`})
	d.signIn(d.server.Key)
	d.talk("/sessions", &list)
	for _, s := range list.Sessions {
		d.visit("/console/chat?session=" + strings.ReplaceAll(s.ID, "$", "%24"))
		d.run("wait for the conversation", until(`document.querySelectorAll(".turn .usage").length > 1`))
		d.run("open and touch everything", chromedp.Evaluate(`document.querySelectorAll("details").forEach((x) => { x.open = true });
			document.querySelectorAll("main *").forEach((x) => { if (!x.closest("a, button, form, summary")) for (const e of ["mouseover", "click"]) x.dispatchEvent(new Event(e, { bubbles: true })) })`, nil))
		if script[bool](d, `"__x" in window`) {
			t.Error("something ran")
		}
		for _, href := range script[[]string](d, `[...document.querySelectorAll("a[href]")].map((a) => a.getAttribute("href"))`) {
			if !strings.HasPrefix(href, "/console") && !strings.HasPrefix(href, "https://evil.example/") && href != "#main" || strings.ContainsAny(href, `"<\`) {
				t.Errorf("a link leads to %s", href)
			}
		}
		if text := script[string](d, `document.querySelector("main").innerText`); !strings.Contains(text, "window.__x=1") {
			t.Errorf("the texts are not shown: %.300s", text)
		}
		if n := script[int](d, `document.querySelectorAll("main :is(script, iframe, img, style, math, object, embed)").length`); n != 0 {
			t.Errorf("%d nodes came out of texts", n)
		}
	}
}
