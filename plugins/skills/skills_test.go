package skills_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/plugin"
	"github.com/hearth-dmrv/hearth/plugins/skills"
)

// folder makes files below a new folder.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func start(t *testing.T, dir string) (*skills.Plugin, error) {
	t.Helper()
	p := skills.New()
	values, err := plugin.Read(p.Settings(), map[string]string{"directory": dir})
	if err != nil {
		t.Fatal(err)
	}
	if err = p.Start(t.Context(), plugin.Host{Settings: values}); err == nil {
		t.Cleanup(func() { _ = p.Close(t.Context()) })
	}
	return p, err
}

// run calls a tool and gives its answer as JSON, or its error.
func run(t *testing.T, p *skills.Plugin, name string, args any) string {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range p.RequestTools(t.Context(), plugin.Turn{}) {
		if tool.Name != name {
			continue
		}
		v, err := tool.Run(t.Context(), plugin.Call{Args: raw})
		if err != nil {
			return err.Error()
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	t.Fatalf("there is no tool %s", name)
	return ""
}

const visit = "---\nname: stove-visit\ndescription: How a stove is visited.\nlicense: MIT\n---\n\n# Visit\n\nKnock first.\n"

func TestSkills(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{
		"visit/SKILL.md": visit, "visit/forms/list.csv": "a,b\n", "visit/long.txt": strings.Repeat("é", 40_000), "visit/picture.png": "\x89PNG\x00",
		"visit/.hidden": "x", "README.md": "no skill", ".git/SKILL.md": "no skill", "secret/SKILL.md": "---\nname: secret\ndescription: d\n---",
	})
	p, err := start(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	told, err := p.Prompt(t.Context(), plugin.Turn{})
	if err != nil || !strings.HasSuffix(told, `: [{"name":"secret","description":"d"},{"name":"stove-visit","description":"How a stove is visited."}]`) || strings.Contains(told, "Knock") {
		t.Errorf("the model is told %q, %v", told, err)
	}
	want := `{"skill":"stove-visit","from":"the operator of this server","text":"# Visit\n\nKnock first.","files":["forms/list.csv","long.txt","picture.png"]}`
	if got := run(t, p, "load_skill", map[string]string{"name": "stove-visit"}); got != want {
		t.Errorf("load_skill = %s", got)
	}
	if got := run(t, p, "load_skill", map[string]string{"name": "visit"}); got != "There is no skill of this name." {
		t.Errorf("load_skill of a folder's name = %s", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "secret", "SKILL.md"), []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := run(t, p, "load_skill", map[string]string{"name": "secret"}); got != "The skill cannot be read: SKILL.md has no front matter any more." {
		t.Errorf("load_skill of a file that was broken = %s", got)
	}
	text := ""
	for offset, more := int64(0), true; more; {
		var part struct {
			Text string `json:"text"`
			Next int64  `json:"next"`
		}
		got := run(t, p, "read_skill_file", map[string]any{"skill": "stove-visit", "path": "long.txt", "offset": offset})
		if err := json.Unmarshal([]byte(got), &part); err != nil {
			t.Fatalf("%.100s: %v", got, err)
		}
		text, offset, more = text+part.Text, part.Next, part.Next > 0
	}
	if text != strings.Repeat("é", 40_000) {
		t.Errorf("the long file has %d bytes in parts", len(text))
	}
}

// Nothing outside the folder of a skill is read.
func TestInside(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"visit/SKILL.md": visit, "visit/real.txt": "inside", "other/SKILL.md": "---\nname: other\ndescription: d\n---\n", "other/key.txt": "secret words"})
	outside := folder(t, map[string]string{"key.txt": "secret words"})
	for name, to := range map[string]string{
		"out.txt": filepath.Join(outside, "key.txt"), "out": outside, "up": "..", "near.txt": "../other/key.txt", "in.txt": "real.txt",
	} {
		if err := os.Symlink(to, filepath.Join(dir, "visit", name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(dir, "linked")); err != nil {
		t.Fatal(err)
	}
	p, err := start(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"../other/key.txt", ".git/config", "forms/.env", "/etc/passwd", "out.txt", "out/key.txt", "up/other/key.txt", "near.txt", "./../other/key.txt", "forms/../../other/key.txt", "..", ".", "", "out", `..\other\key.txt`, "SKILL.md/", "a\x00b",
	} {
		if got := run(t, p, "read_skill_file", map[string]any{"skill": "stove-visit", "path": path}); !strings.HasPrefix(got, "path") || strings.Contains(got, "secret") {
			t.Errorf("%q = %s", path, got)
		}
	}
	if got := run(t, p, "read_skill_file", map[string]any{"skill": "stove-visit", "path": "in.txt"}); !strings.Contains(got, "inside") {
		t.Errorf("a link within the folder = %s", got)
	}
}

// A folder that is no skill stops the start, and all are named.
func TestBadFolders(t *testing.T) {
	t.Parallel()
	head := func(name, about string) string {
		return "---\nname: " + name + "\ndescription: " + about + "\n---\ntext"
	}
	_, err := start(t, folder(t, map[string]string{
		"good/SKILL.md": visit, "twice/SKILL.md": visit, "empty/x.txt": "x", "plain/SKILL.md": "# no front matter", "open/SKILL.md": "---\nname: a\n",
		"name/SKILL.md": head("Not A Name", "d"), "about/SKILL.md": head("b", `""`), "wordy/SKILL.md": head("c", strings.Repeat("x", 1025)),
		"yaml/SKILL.md": head("[", "d"), "large/SKILL.md": head("e", "d") + strings.Repeat("x", 49<<10), "bytes/SKILL.md": "---\n\xff",
	}))
	for _, want := range []string{
		`"twice": the name stove-visit is taken`, `"empty": SKILL.md: there is no such file`, `"plain": SKILL.md must begin with front matter`, `"open": SKILL.md must begin`, `"name": name: want`,
		`"about": description: want`, `"wordy": description: want`, `"yaml": SKILL.md: the front matter is no YAML`, `"large": SKILL.md has more than`, `"bytes": SKILL.md: it is not text`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the start says %v, want %s in it", err, want)
		}
	}
	if err != nil && strings.Contains(err.Error(), `"good"`) {
		t.Error("a good folder is named too")
	}
	missing := filepath.Join(t.TempDir(), "missing")
	if _, err := start(t, missing); err == nil {
		t.Error("it starts with a folder that is not there")
	}
	p := skills.New()
	values, err := plugin.Read(p.Settings(), map[string]string{"directory": missing})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Check(values); err == nil || !strings.Contains(err.Error(), "directory: ") {
		t.Errorf("Check() = %v, want the folder named", err)
	}
}

func TestNoSkills(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"", t.TempDir()} {
		p, err := start(t, dir)
		if err != nil {
			t.Fatal(err)
		}
		if told, err := p.Prompt(t.Context(), plugin.Turn{}); told != "" || err != nil || len(p.RequestTools(t.Context(), plugin.Turn{})) != 0 {
			t.Errorf("with no skills the model is told %q, %v", told, err)
		}
	}
	if err := skills.New().Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// Many skills with long descriptions fit what a plugin may tell, and are all named.
func TestMany(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 100 {
		files[fmt.Sprintf("s%02d/SKILL.md", i)] = fmt.Sprintf("---\nname: skill-%02d\ndescription: %s\n---\n", i, strings.Repeat("word ", 200))
	}
	p, err := start(t, folder(t, files))
	if err != nil {
		t.Fatal(err)
	}
	told, _ := p.Prompt(t.Context(), plugin.Turn{})
	if len(told) > plugin.MaxPrompt || !strings.Contains(told, "skill-00") || !strings.Contains(told, "skill-99") {
		t.Errorf("the model is told %d bytes", len(told))
	}
}
