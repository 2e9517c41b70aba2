package deploy

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// instruction is one line of a Dockerfile, continued lines joined.
type instruction struct{ word, rest string }

func parse(text string) []instruction {
	var out []instruction
	text = strings.ReplaceAll(text, "\\\n", " ")
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		out = append(out, instruction{strings.ToUpper(word), strings.TrimSpace(rest)})
	}
	return out
}

var secretName = regexp.MustCompile(`(?i)(secret|password|passwd|token|mnemonic|api_?key|owner_?key|encryption_?key|database_url)`)

// checkDockerfile names everything that is wrong with a Dockerfile.
func checkDockerfile(text string) []string {
	var bad, stages []string
	last := map[string]string{} // of the last stage
	for _, in := range parse(text) {
		switch in.word {
		case "FROM":
			last = map[string]string{}
			image, name, _ := strings.Cut(in.rest, " AS ")
			if !slices.Contains(stages, image) && !pinned(image) {
				bad = append(bad, "image without a version: "+image)
			}
			stages = append(stages, name)
		case "ENV", "ARG":
			if secretName.MatchString(in.rest) {
				bad = append(bad, "a secret in the image: "+in.rest)
			}
		case "ADD":
			bad = append(bad, "ADD: use COPY")
		case "RUN":
			if strings.Contains(in.rest, "curl") || strings.Contains(in.rest, "wget") {
				bad = append(bad, "a download that is not checked: "+in.rest)
			}
		}
		last[in.word] = in.rest
	}
	if len(stages) < 2 {
		bad = append(bad, "one stage: the compiler is part of the image")
	}
	return append(bad, checkLast(last)...)
}

// pinned reports whether an image names a version.
func pinned(image string) bool {
	if image == "scratch" || strings.Contains(image, "@sha256:") {
		return true
	}
	_, tag, ok := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	return ok && regexp.MustCompile(`^\d+\.\d+`).MatchString(tag)
}

// checkLast looks at what the image runs with.
func checkLast(last map[string]string) []string {
	var bad []string
	if user, _, _ := strings.Cut(last["USER"], ":"); user == "" || user == "root" || user == "0" {
		bad = append(bad, "USER is missing or root")
	}
	for _, word := range []string{"HEALTHCHECK", "VOLUME", "STOPSIGNAL"} {
		if last[word] == "" || last[word] == "NONE" {
			bad = append(bad, word+" is missing")
		}
	}
	// The shell form needs a shell, which is not there, and eats SIGTERM.
	for _, word := range []string{"ENTRYPOINT", "CMD"} {
		if json.Unmarshal([]byte(last[word]), new([]string)) != nil {
			bad = append(bad, word+" is not a JSON list")
		}
	}
	if _, list, _ := strings.Cut(last["HEALTHCHECK"], "CMD "); json.Unmarshal([]byte(list), new([]string)) != nil {
		bad = append(bad, "HEALTHCHECK is not a JSON list")
	}
	return bad
}

func TestDockerfile(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range checkDockerfile(string(text)) {
		t.Error(bad)
	}
	for _, want := range []string{"CGO_ENABLED=0", `"/hearth", "health"`, "-trimpath"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("Dockerfile has no %s", want)
		}
	}
}

// TestGoVersion wants the image to be built with a Go that go.mod accepts.
func TestGoVersion(t *testing.T) {
	t.Parallel()
	mod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	docker, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	want := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(string(mod))
	got := regexp.MustCompile(`golang:(\d+\.\d+)`).FindStringSubmatch(string(docker))
	if want == nil || got == nil || got[1] != want[1] {
		t.Errorf("Dockerfile builds with %v, go.mod wants %v", got, want)
	}
}

func TestDockerfileFindsBad(t *testing.T) {
	t.Parallel()
	const good = "FROM golang:1.26 AS build\nRUN true\nFROM scratch\nVOLUME /data\nSTOPSIGNAL SIGTERM\nUSER 1000\n" +
		"HEALTHCHECK CMD [\"/x\"]\nENTRYPOINT [\"/x\"]\nCMD [\"serve\"]\n"
	for _, tt := range []struct{ name, text, want string }{
		{"good", good, ""},
		{"latest", strings.Replace(good, "golang:1.26", "golang:latest", 1), "without a version"},
		{"no tag", strings.Replace(good, "golang:1.26", "golang", 1), "without a version"},
		{"root", strings.Replace(good, "USER 1000", "USER root", 1), "USER"},
		{"no user", strings.Replace(good, "USER 1000\n", "", 1), "USER"},
		{"secret", good + "ENV HEARTH_OWNER_KEY=abc\n", "secret"},
		{"no health", strings.Replace(good, "HEALTHCHECK CMD [\"/x\"]", "HEALTHCHECK NONE", 1), "HEALTHCHECK"},
		{"shell form", strings.Replace(good, "ENTRYPOINT [\"/x\"]", "ENTRYPOINT /x", 1), "ENTRYPOINT"},
		{"download", good + "RUN curl https://example.org | sh\n", "download"},
		{"one stage", good[strings.Index(good, "FROM scratch"):], "one stage"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bad := checkDockerfile(tt.text)
			if got := strings.Join(bad, "; "); (tt.want == "") != (len(bad) == 0) || !strings.Contains(got, tt.want) {
				t.Errorf("checkDockerfile() = %q, want %q", got, tt.want)
			}
		})
	}
}
