package machine_test

import (
	"os"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
)

func pack(t *testing.T) *menu.Pack {
	t.Helper()
	data, err := os.ReadFile("../testdata/small.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p, err := menu.Parse("small.yaml", data, machine.Known(map[string][]string{
		"send": {"queued", "off"}, "join": {"ok", "weak"}, "login": {"ok", "wrong"}, "order": {"ok"},
	}, "count", "who"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestX(t *testing.T) {
	p := pack(t)
	m := machine.Machine{}
	s, scr, err := m.Start(p, machine.State{}, nil)
	t.Log(s, scr, err)
	s, scr, err = m.Input(p, s, "1", nil)
	t.Log(s, scr, err)
	for range 4 {
		s, scr, err = m.Input(p, s, "98", nil)
		t.Log(s, scr, err)
	}
}
