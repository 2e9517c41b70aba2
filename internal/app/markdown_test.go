package app

import (
	"strings"
	"testing"
)

func TestMarkdownPage(t *testing.T) {
	t.Parallel()
	const text = "# Title\n<!-- hidden -->\nOne line,\ntwo lines.\n\n- a `x<y`\n- b\n\n```yaml\nserver:\n  port: 1 # <b>\n```\n\n| Code | Text |\n|---|---|\n| `A_B` | a \\| b |\n"
	got := string(markdownPage("T", []byte(text)))
	for _, want := range []string{
		"<h1>Title</h1>", "<p> One line, two lines.</p>", "<ul><li>a <code>x&lt;y</code><li>b</ul>",
		`<pre tabindex="0">` + "server:\n  port: 1 # &lt;b&gt;\n</pre>", `<tr id="A_B"><td><code>A_B</code></td><td>a | b</td></tr></table>`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("page lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "hidden") {
		t.Error("a comment is shown")
	}
}
