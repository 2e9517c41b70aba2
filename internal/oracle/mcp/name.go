package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

const (
	between  = "__" // the name of a server and that of its tool
	maxShown = 64   // characters of a name that model servers take
	hashSize = 8    // characters of a hash at the end of a name
)

// ShownName is the name of a server's tool for a model. One that is too long or has
// characters which model servers refuse is changed, and ends in a hash of the
// original, so that two tools never share a name.
func ShownName(server, original string) string {
	name := server + between + original
	if tool.ValidName(name) {
		return name
	}
	sum := sha256.Sum256([]byte(original))
	name = strings.Map(func(r rune) rune {
		if r < 0x80 && tool.ValidName(string(r)) {
			return r
		}
		return '_'
	}, name)
	return name[:min(len(name), maxShown-hashSize-1)] + "_" + hex.EncodeToString(sum[:])[:hashSize]
}

// Resource is the resource in an invocation of a tool: the capability is mcp/call
// on it.
func Resource(oracleDID, server, original string) string {
	return "ixo:oracle:" + oracleDID + ":mcp/" + server + "/" + original
}

// Ability is the ability in an invocation of a tool.
const Ability = "mcp/call"
