package e2e

import (
	"strconv"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/oracle/llm/modeltest"
	"github.com/hearth-dmrv/hearth/test/server"
)

// TestHundredCalls has a model call for a hundred tools in one answer: the
// first 25 run, every other is refused by name, and the user gets an answer.
func TestHundredCalls(t *testing.T) {
	t.Parallel()
	calls := make([]modeltest.Call, 100)
	for i := range calls {
		calls[i] = modeltest.Call{ID: "c" + strconv.Itoa(i), Name: "search_twins", Args: `{"type":"T` + strconv.Itoa(i) + `"}`}
	}
	model := modeltest.Start(modeltest.Use(calls...), modeltest.Say("That was much."))
	t.Cleanup(model.Close)
	k := &talker{t: t, s: server.Run(t, server.Options{Dir: t.TempDir(), Env: []string{"LLM_BASE_URL=" + model.URL}})}
	k.begin()
	began, ended, refused := 0, 0, 0
	var last sse
	frames(k.ask("POST", "/messages/"+k.session, `{"message":"Look everywhere.","stream":true}`).Body, func(f sse) bool {
		if last = f; f.event != "tool_call" {
			return true
		}
		if f.text("status") == "isRunning" {
			began++
			return true
		}
		ended++
		if strings.Contains(f.text("output"), "limit of 25 tool calls") {
			refused++
		}
		return true
	})
	if began != 100 || ended != 100 || refused != 75 {
		t.Errorf("%d calls begin, %d end, %d are refused; want 100, 100 and 75", began, ended, refused)
	}
	if last.event != "done" || last.text("status") != "finished" {
		t.Errorf("the answer ends with %s %s, want it finished", last.event, last.data)
	}
	if said := k.history(); len(said) != 3 || len(said[1].ToolCalls) != 100 || said[2].Content != "That was much." {
		t.Errorf("the history is %+v", said)
	}
}
