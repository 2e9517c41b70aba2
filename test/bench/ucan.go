package main

import (
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/oracle"
	"github.com/hearth-dmrv/hearth/internal/ucan"
)

// The bars of the check of a token: how many bare signature checks one costs
// that is new, and the CPU of one that is remembered, in µs.
const (
	checkBar = 2.0
	knownBar = 5.0
)

const (
	signers     = 16   // who makes the tokens
	freshTokens = 4096 // that are checked before the memory of them is given up
	signedBytes = 330  // what an invocation signs is about as long
)

// tokenChecks compares how the server identifies a caller with a bare check of an
// Ed25519 signature.
func (b *bench) tokenChecks(ctx context.Context) error {
	fresh := freshTokens
	if b.quick {
		fresh = 256
	}
	texts, err := mintTokens(fresh)
	if err != nil {
		return err
	}
	bare := func(context.Context) (side, error) { return verifySide(), nil }
	fmt.Printf("%-26s %9s %9s %7s\n", "", "CPU µs", "bare", "times")
	p, err := b.pair(ctx, func(context.Context) (side, error) { return checkSide(texts, false), nil }, bare)
	if err != nil {
		return err
	}
	times := p.ratio(sample.cost)
	fmt.Printf("%-26s %9.2f %9.2f %7.2f   bar %.1f times %s\n", "a token that is new", medianOf(p.ours, sample.cost), medianOf(p.bound, sample.cost), times,
		checkBar, b.verdict("check of a new token", times <= checkBar))
	p, err = b.pair(ctx, func(context.Context) (side, error) { return checkSide(texts[:64], true), nil }, bare)
	if err != nil {
		return err
	}
	cost := medianOf(p.ours, sample.cost)
	fmt.Printf("%-26s %9.2f %9.2f %7.2f   bar %.1f µs %s\n", "a token that is remembered", cost, medianOf(p.bound, sample.cost), p.ratio(sample.cost),
		knownBar, b.verdict("check of a remembered token", cost <= knownBar))
	return nil
}

// audience is the audience of the tokens in this row.
const audience did.DID = "did:ixo:entity:bench"

// mintTokens makes n headers with invocations, all different.
func mintTokens(n int) ([]string, error) {
	texts := make([]string, n)
	ends := time.Now().Add(10 * time.Minute)
	for i := range texts {
		seed := make([]byte, ed25519.SeedSize)
		binary.LittleEndian.PutUint32(seed, uint32(i%signers)+1)
		signer, err := ucan.NewSigner("", ed25519.NewKeyFromSeed(seed))
		if err != nil {
			return nil, err
		}
		token, err := signer.Mint(ucan.Draft{
			Audience: audience, Expires: ends, Nonce: strconv.Itoa(i),
			Capabilities: []ucan.Capability{{Can: "*", With: ucan.DefaultResource}},
		})
		if err != nil {
			return nil, err
		}
		texts[i] = "Bearer " + token.Text()
	}
	return texts, nil
}

// looper repeats one operation in this process.
type looper struct {
	once func(ctx context.Context, n int) error
}

// chunk is how many operations run between two looks at the clock.
const chunk = 32

func (l *looper) run(ctx context.Context, d time.Duration) (sample, error) {
	cpu, start := cpuTime(), time.Now()
	n := 0
	for end := start.Add(d); time.Now().Before(end); {
		for range chunk {
			if err := l.once(ctx, n); err != nil {
				return sample{}, err
			}
			n++
		}
	}
	return sample{ops: n, took: time.Since(start), cpu: cpuTime() - cpu}, nil
}

func (*looper) close() error { return nil }

// checkSide identifies the sender of a header. Unless remembered, it forgets all
// tokens when it has seen all.
func checkSide(texts []string, remembered bool) side {
	service := oracle.NewCallers(oracle.CallersConfig{DID: audience})
	return &looper{func(ctx context.Context, n int) error {
		if !remembered && n%len(texts) == 0 {
			service = oracle.NewCallers(oracle.CallersConfig{DID: audience})
		}
		_, err := service.Identify(ctx, ucan.Credentials{AuthType: "ucan", Authorization: texts[n%len(texts)]})
		return err
	}}
}

// verifySide checks a signature and nothing else.
func verifySide() side {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	message := make([]byte, signedBytes)
	signature, public := ed25519.Sign(key, message), ed25519.PublicKey(key[ed25519.SeedSize:])
	return &looper{func(context.Context, int) error {
		if !ed25519.Verify(public, message, signature) {
			return errors.New("a good signature is refused")
		}
		return nil
	}}
}
