package console

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// hostile are texts that run something where a page takes text for markup, a
// style, a script or an address.
var hostile = []string{
	`<script>window.__x=1</script>`,
	`<img src=x onerror="window.__x=1">`,
	`"><svg onload=window.__x=1>`,
	`'><body onpageshow=window.__x=1>`,
	`javascript:window.__x=1`,
	`JaVaScRiPt://%0awindow.__x=1`,
	`data:text/html,<script>window.__x=1</script>`,
	"`;window.__x=1;//",
	`${window.__x=1}`,
	`{{constructor.constructor('window.__x=1')()}}`,
	`</textarea></title></style></script><script>window.__x=1</script>`,
	`<iframe srcdoc="<script>parent.__x=1</script>"></iframe>`,
	`<a href="javascript:window.__x=1">click</a>`,
	`[click](javascript:window.__x=1) ![x](x" onerror="window.__x=1)`,
	`<math><mi xlink:href="data:x,<script>window.__x=1</script>">`,
	`<style>@import 'javascript:window.__x=1'</style>`,
	`expression(window.__x=1)`,
	`__proto__`, `constructor`, `toString`,
	"\u202e<script>window.__x=1</script>",
}

// planter puts hostile texts wherever a server takes a text.
type planter struct {
	*desk
	taken, refused int
}

// send posts a body; that the server refuses a text is fine too.
func (p *planter) send(path string, body any, head ...string) map[string]any {
	p.t.Helper()
	answer, err := p.server.Client(1).Do(p.t.Context(), "POST", path, body, head...)
	if err != nil {
		p.t.Fatal(err)
	}
	out := map[string]any{}
	if answer.Status >= 500 {
		p.t.Errorf("POST %s: %d %s", path, answer.Status, answer.Body)
	}
	if answer.Status >= 400 {
		p.refused++
		if testing.Verbose() {
			p.t.Logf("%s: %d %s", path, answer.Status, answer.Body)
		}
		return out
	}
	p.taken++
	_ = answer.JSON(&out) // an answer that is no object has no id
	return out
}

func (p *planter) id(path, member string, body any, head ...string) string {
	p.t.Helper()
	id, _ := p.send(path, body, head...)[member].(string)
	return id
}

// plant sends one text everywhere and returns the pages that show it.
func (p *planter) plant(n int, text string) []string {
	p.t.Helper()
	type object = map[string]any
	var pages []string
	show := func(path, id string) {
		if id != "" {
			pages = append(pages, "/console/"+path+"/"+url.PathEscape(id))
		}
	}
	twin := func(kind, protocol string, properties object) string {
		return p.id("/v1/entities", "did", object{"type": kind, "protocol": "did:ixo:protocol/" + protocol, "properties": properties, "externalIds": object{"plate": text + kind + fmt.Sprint(n)}, "metadata": object{text: text}})
	}
	project := twin("Project", "project", object{"name": text, "description": text})
	show("twins", project)
	show("twins", twin("Household", "household", object{"name": text, "district": text}))
	p.send("/v1/api-keys", object{"name": text, "role": "auditor"})
	p.send("/v1/webhooks", object{"url": "https://example.org/" + fmt.Sprint(n), "events": []string{"key.*"}, "active": false, "description": text})
	if project == "" {
		return pages
	}
	template, survey := fmt.Sprintf("hostile-%d", n), ""
	if p.id("/v1/templates", "templateId", object{"templateId": template, "title": object{"en": text}, "sections": []object{{"id": "s", "title": object{"en": text}, "questions": []object{
		{"id": "agreed", "type": "consent", "label": object{"en": text}}, {"id": "q", "type": "text", "label": object{"en": text}, "hint": object{"en": text}},
	}}}}) != "" {
		p.send("/v1/templates/"+template+"/publish", object{}, "If-Match", `"1"`)
		survey = p.id("/v1/surveys", "surveyId", object{"type": "BaselineSurvey", "name": text, "projectId": project, "templateId": template, "sampling": object{"method": "simple_random", "size": 5}, "collectors": []string{"did:ixo:agent/123"}})
		show("surveys", survey)
	}
	if survey != "" {
		p.send("/v1/surveys/"+survey+"/households", object{"items": []object{{"householdId": "did:ixo:household/1", "stratum": text}}})
		p.send("/v1/surveys/"+survey+"/activate", object{})
		show("responses", p.id("/v1/surveys/"+survey+"/responses", "responseId", object{"responseId": fmt.Sprintf("r-%d", n), "householdId": "did:ixo:household/1", "timestamp": "2026-02-20T10:00:00Z", "collector": "did:ixo:agent/123", "responses": object{"s": object{"agreed": true, "q": text}}}))
	}
	chat := p.id("/sessions", "sessionId", object{}, "X-API-Key", p.server.Key)
	if chat != "" {
		p.send("/messages/"+chat, object{"message": text}, "X-API-Key", p.server.Key)
	}
	p.send("/api/ussd", object{"sessionId": fmt.Sprintf("h-%d", n), "serviceCode": "*2233#", "phoneNumber": fmt.Sprintf("+2547000002%02d", n), "text": "2*2*" + text})
	return pages
}

// TestHostileTexts plants texts that would run in a careless page and opens every
// page: the texts are shown, nothing runs, and no link leads into a script.
func TestHostileTexts(t *testing.T) {
	d := open(t, "127.0.0.1")
	p := &planter{desk: d}
	d.signIn(d.server.Key)
	paths := []string{}
	for n, text := range hostile {
		own := p.plant(n, text)
		if !dbtest.Everything() && len(own) > 0 { // each text, each kind of page: one of the pages takes turns
			own = []string{own[n%len(own)]}
		}
		paths = append(paths, own...)
	}
	t.Logf("%d places took a text, %d refused it, %d pages of their own", p.taken, p.refused, len(paths))
	for _, page := range listed(d.pages()) {
		paths = append(paths, "/console"+page.Path)
	}
	for _, path := range paths {
		d.turn(path)
		if strings.HasPrefix(path, "/console/responses/") || strings.HasPrefix(path, "/console/twins/") {
			d.run("open what is folded", chromedp.Evaluate(`document.querySelectorAll("main details").forEach((e) => { e.open = true })`, nil))
		}
		bad := script[[]string](d, `[window.__x !== undefined ? "a text has run" : "", ...[...document.querySelectorAll("a[href], img[src], iframe, form[action]")].map((e) => e.href || e.src || e.action || "a frame")
			.filter((u) => !u.startsWith(location.origin + "/") && !u.startsWith("blob:") && !/^https:\/\/example\.org\//.test(u))].filter(Boolean)`)
		for _, b := range bad {
			t.Errorf("%s: %s", path, b)
		}
	}
	d.visit("/console/twins")
	if text := script[string](d, `document.querySelector("main").innerText`); !strings.Contains(text, "<script>window.__x=1</script>") {
		t.Errorf("the list does not show the texts as they are: %.500s", text)
	}
	if p.taken < 6*len(hostile) {
		t.Errorf("only %d places took a text", p.taken)
	}
}
