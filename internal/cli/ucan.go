package cli

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/ucan"
)

func ucanCommands() []command {
	return []command{
		{name: "ucan key", summary: "Make a key to call the oracle with, or show its DID", run: ucanKey, flags: ucanKeyFlags},
		{name: "ucan invoke", summary: "Print a token that identifies the caller", run: ucanInvoke, flags: ucanInvokeFlags},
		{name: "ucan delegate", summary: "Print a token that lets the oracle act for you", run: ucanDelegate, flags: ucanDelegateFlags},
		{name: "ucan inspect", args: "<token>", summary: "Show what a token contains and whether it is valid", run: ucanInspect},
		{name: "chat", summary: "Talk to the oracle from the terminal", run: chat, flags: chatFlags},
	}
}

// defaultKeyFile is where ucan key leaves the key: with the other settings of the
// person, never in the folder one happens to be in, which may be a checkout. It is
// empty where the system knows no such place; then --key-file is needed.
func defaultKeyFile() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "hearth", "ucan.key")
}

type ucanFlags struct {
	file, did, audience, can, with string
	ttl                            time.Duration
}

func keyFlag(fs *flag.FlagSet, u *ucanFlags) {
	fs.StringVar(&u.file, "key-file", defaultKeyFile(), "`file` with the key that signs")
}

func ucanKeyFlags(fs *flag.FlagSet) any {
	u := &ucanFlags{}
	keyFlag(fs, u)
	return u
}

func audienceFlags(fs *flag.FlagSet, u *ucanFlags, ttl time.Duration) {
	keyFlag(fs, u)
	fs.StringVar(&u.did, "did", "", "`DID` that the key speaks for; its did:key by default")
	fs.StringVar(&u.audience, "audience", "", "`DID` of the oracle; that of the data folder by default")
	fs.DurationVar(&u.ttl, "ttl", ttl, "`time` the token is good for")
}

func ucanInvokeFlags(fs *flag.FlagSet) any {
	u := &ucanFlags{can: "*", with: ucan.DefaultResource}
	audienceFlags(fs, u, 10*time.Minute)
	return u
}

func ucanDelegateFlags(fs *flag.FlagSet) any {
	u := &ucanFlags{}
	audienceFlags(fs, u, 30*24*time.Hour)
	fs.StringVar(&u.can, "can", "*", "what it may do: memory/read, memory/*, *; several with commas")
	fs.StringVar(&u.with, "with", ucan.DefaultResource, "with which `resource`")
	return u
}

// ucanKey makes a key file, once, and prints the DID of the key.
func ucanKey(_ context.Context, c *call) error {
	u := c.own.(*ucanFlags)
	key, err := readKey(u.file)
	if errors.Is(err, fs.ErrNotExist) {
		if _, key, err = ed25519.GenerateKey(nil); err != nil {
			return err
		}
		err = writeKey(u.file, key)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(c.out, "did   %s\nfile  %s\n", did.FromEd25519(key.Public().(ed25519.PublicKey)), u.file)
	return nil
}

// writeKey stores the seed of a key for its owner alone.
func writeKey(file string, key ed25519.PrivateKey) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("write key: %w", err)
	}
	if err := os.WriteFile(file, []byte(hex.EncodeToString(key.Seed())+"\n"), 0o600); err != nil {
		return fmt.Errorf("write key: %w", err)
	}
	return nil
}

// readKey reads the seed of a key.
func readKey(file string) (ed25519.PrivateKey, error) {
	if file == "" {
		return nil, errUsage{"--key-file is needed: this system has no folder for the settings of a person"}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read key: %w", err)
	}
	seed, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("read key: %s does not hold 64 hexadecimal digits", file)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

func ucanInvoke(ctx context.Context, c *call) error {
	u := c.own.(*ucanFlags)
	if err := u.invocation(c); err != nil {
		return err
	}
	return printToken(ctx, c, u)
}

// invocation checks that a server accepts an invocation with that lifetime.
func (u *ucanFlags) invocation(c *call) error {
	return u.within(c.cfg.Oracle.UCANAuthMaxTTL, "UCAN_AUTH_MAX_TTL_SECONDS")
}

func (u *ucanFlags) within(most time.Duration, setting string) error {
	if u.ttl <= most {
		return nil
	}
	return errUsage{fmt.Sprintf("--ttl: servers refuse this token when it lives longer than %s; for one that allows more set %s here too", most, setting)}
}

func ucanDelegate(ctx context.Context, c *call) error {
	u := c.own.(*ucanFlags)
	if most := c.cfg.Oracle.UCANDelegationMaxTTL; most > 0 {
		if err := u.within(most, "UCAN_DELEGATION_MAX_TTL_SECONDS"); err != nil {
			return err
		}
	}
	return printToken(ctx, c, u)
}

func printToken(ctx context.Context, c *call, u *ucanFlags) error {
	text, err := mint(ctx, c, u)
	if err != nil {
		return err
	}
	fmt.Fprintln(c.out, text)
	return nil
}

// mint makes the token that the flags describe.
func mint(ctx context.Context, c *call, u *ucanFlags) (string, error) {
	key, err := readKey(u.file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("there is no %s: make one with hearth ucan key, or name yours with --key-file", u.file)
	} else if err != nil {
		return "", err
	}
	audience, err := audienceOf(ctx, c, u.audience)
	if err != nil {
		return "", err
	}
	u.audience = audience.String() // the next token need not look
	if u.ttl <= 0 {
		return "", errUsage{"--ttl is a time above zero, such as 10m"}
	}
	signer, err := ucan.NewSigner(did.DID(u.did), key)
	if ucan.KindOf(err) == ucan.Malformed {
		return "", errUsage{"--did is not a DID, or the did:key of another key than that of " + u.file}
	} else if err != nil {
		return "", err
	}
	d := ucan.Draft{Audience: audience, Expires: time.Now().Add(u.ttl)}
	for can := range strings.SplitSeq(u.can, ",") {
		d.Capabilities = append(d.Capabilities, ucan.Capability{Can: strings.TrimSpace(can), With: u.with})
	}
	t, err := signer.Mint(d)
	if err != nil {
		return "", err
	}
	return t.Text(), nil
}

// audienceOf is the DID a token is for.
func audienceOf(ctx context.Context, c *call, given string) (did.DID, error) {
	if given != "" {
		id, err := did.Parse(given)
		if err != nil {
			return "", errUsage{"--audience is not a DID"}
		}
		return id, nil
	}
	id, err := app.OracleDID(ctx, c.cfg)
	if err != nil {
		return "", fmt.Errorf("whose DID is meant? give --audience, or --data-dir of a server that was started once: %w", err)
	}
	return id, nil
}

// ucanInspect shows a token and checks what can be checked from here.
func ucanInspect(ctx context.Context, c *call) error {
	if len(c.args) != 1 {
		return errUsage{"inspect takes one token, or - to read it"}
	}
	text := c.args[0]
	if text == "-" {
		b, err := io.ReadAll(io.LimitReader(c.in, ucan.MaxText+1))
		if err != nil {
			return err
		}
		text = string(b)
	}
	t, err := ucan.Parse(strings.TrimSpace(text))
	if err != nil {
		return err
	}
	showToken(c.out, t, "")
	checker := ucan.New(ucan.Config{DID: t.Audience, AuthTTL: c.cfg.Oracle.UCANAuthMaxTTL, DelegationTTL: c.cfg.Oracle.UCANDelegationMaxTTL})
	_, err = checker.Auth(ctx, t.Text())
	showVerdict(c.out, "an invocation", err)
	_, err = checker.Delegation(ctx, t.Text())
	showVerdict(c.out, "a delegation", err)
	return nil
}

// showVerdict prints the result of a check. Here the keys of a DID other than a
// did:key are unknown, so everything but the signature was checked.
func showVerdict(w io.Writer, use string, err error) {
	var e *ucan.Error
	switch {
	case err == nil:
		fmt.Fprintf(w, "good      as %s\n", use)
	case errors.As(err, &e) && e.Kind == ucan.UnknownIssuer:
		fmt.Fprintf(w, "unknown   as %s: only the server knows the keys of %s, so the signature was not checked\n", use, e.Detail)
	default:
		fmt.Fprintf(w, "not good  as %s: %s\n", use, err)
	}
}

// showToken prints a token and its proofs.
func showToken(w io.Writer, t *ucan.Token, indent string) {
	fmt.Fprintf(w, "%sissuer    %s\n%saudience  %s\n", indent, t.Issuer, indent, t.Audience)
	for _, p := range t.Capabilities {
		fmt.Fprintf(w, "%scan       %s with %s\n", indent, p.Can, p.With)
	}
	if at := t.NotBefore(); !at.IsZero() {
		fmt.Fprintf(w, "%sfrom      %s\n", indent, at.UTC().Format(time.RFC3339))
	}
	until := "never ends"
	if at := t.Expires(); !at.IsZero() {
		until = at.UTC().Format(time.RFC3339)
	}
	fmt.Fprintf(w, "%suntil     %s\n%scid       %s\n", indent, until, indent, t.CID)
	for _, cid := range t.Proofs {
		fmt.Fprintf(w, "%sproof     %s\n", indent, cid)
		if p, err := t.Proof(cid); err == nil {
			showToken(w, p, indent+"  ")
		}
	}
}
