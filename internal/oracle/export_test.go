package oracle

import "github.com/hearth-dmrv/hearth/internal/oracle/tool"

// CheckMessage reads a body of JSON as POST /messages/{sessionId} does.
func CheckMessage(raw []byte) error {
	have, err := readJSON(raw)
	if err != nil {
		return err
	}
	m, err := readMessage(have, func() []tool.Tool { return nil })
	if err != nil {
		return err
	}
	_, _, err = m.merge(nil)
	return err
}

// SafeName is the name a tool of a page gets.
func SafeName(name string) string { return safeName(name) }
