package dbtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Cluster is a throw-away PostgreSQL in a temporary folder, in memory if there
// is room, reached over a socket in the folder. It does not sync to disk.
type Cluster struct {
	dir   string
	leash io.WriteCloser // the keeper stops the server when this end closes
	says  *bufio.Reader  // what the keeper says
	done  chan error
}

// keeper is a script that runs the server and removes it when its standard input ends:
// when the process that started it calls Stop, exits or is killed. Crash and Revive send
// it commands. A crash first suspends the server, so that it starts no process while
// they are listed; a process that survives would block the next server.
const keeper = `
trap '' INT TERM HUP
run() {
	"$1/postgres" -D "$2/data" >>"$2/log" 2>&1 </dev/null &
	pid=$!
}
run "$1" "$2"
while read -r word; do
	case $word in
	crash)
		kill -STOP $pid
		kill -KILL $(cat /proc/$pid/task/$pid/children) $pid
		wait $pid 2>/dev/null
		echo crashed
		;;
	run) run "$1" "$2" ;;
	esac
done
kill -QUIT $pid 2>/dev/null
wait $pid 2>/dev/null
rm -rf "$2"
`

// settings are for speed: no data here has to survive. The log stays small because
// it may be in memory.
const settings = `
listen_addresses = ''
unix_socket_permissions = 0777
max_connections = 400
shared_buffers = 32MB
fsync = off
full_page_writes = off
wal_level = minimal
max_wal_senders = 0
min_wal_size = 32MB
max_wal_size = 128MB
autovacuum = off
log_min_messages = fatal
`

// Start creates and starts a cluster, with additional lines of settings. It ends with
// Stop or with the process.
func Start(ctx context.Context, more ...string) (*Cluster, error) {
	return begin(ctx, func(c *Cluster, bin string) error { return c.init(ctx, bin, more) })
}

// Replicated are the settings of a cluster that can have standbys.
func Replicated() []string {
	return []string{"wal_level = replica", "max_wal_senders = 4", "wal_keep_size = 256MB"}
}

// Standby creates and starts a standby of a cluster that was started with Replicated.
// synchronous_standby_names can contain its name.
func (c *Cluster) Standby(ctx context.Context, name string) (*Cluster, error) {
	return begin(ctx, func(s *Cluster, bin string) error {
		from := fmt.Sprintf("host=%s user=hearth application_name=%s", c.dir, name)
		return s.make(exec.CommandContext(ctx, filepath.Join(bin, "pg_basebackup"), "-d", from, "-D", filepath.Join(s.dir, "data"),
			"-R", "-X", "stream", "-c", "fast", "--no-sync"), nil)
	})
}

// begin creates a folder, fills it and starts the server in it.
func begin(ctx context.Context, fill func(*Cluster, string) error) (*Cluster, error) {
	if runtime.GOOS == "windows" {
		return nil, errors.New("a cluster cannot be started on Windows: set HEARTH_TEST_POSTGRES_URL")
	}
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(folderOfClusters(), "hearth-pg-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{dir: dir}
	if err := c.start(ctx, bin, fill); err != nil {
		text, _ := os.ReadFile(filepath.Join(dir, "log"))
		if c.leash != nil {
			c.leash.Close()
		}
		return nil, errors.Join(fmt.Errorf("start PostgreSQL: %w: %s", err, text), os.RemoveAll(dir))
	}
	return c, nil
}

// URL returns the URL of a database of the cluster; "postgres" always exists.
func (c *Cluster) URL(database string) string {
	q := url.Values{"host": {c.dir}, "user": {"hearth"}, "sslmode": {"disable"}}
	return "postgres:///" + database + "?" + q.Encode()
}

// Dir is the folder of the cluster.
func (c *Cluster) Dir() string { return c.dir }

// Stop ends the server and removes its folder.
func (c *Cluster) Stop() error {
	if err := c.leash.Close(); err != nil {
		return err
	}
	return <-c.done
}

// Crash kills all processes of the server at once, as kill -9 does. It needs /proc.
func (c *Cluster) Crash() error {
	if _, err := io.WriteString(c.leash, "crash\n"); err != nil {
		return err
	}
	_, err := c.says.ReadString('\n')
	return err
}

// Revive starts a server that has crashed, and waits until it answers.
func (c *Cluster) Revive(ctx context.Context) error {
	if _, err := io.WriteString(c.leash, "run\n"); err != nil {
		return err
	}
	return c.await(ctx)
}

// init creates an empty cluster.
func (c *Cluster) init(ctx context.Context, bin string, more []string) error {
	return c.make(exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", filepath.Join(c.dir, "data"),
		"-U", "hearth", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C", "--no-instructions"), append([]string{settings}, more...))
}

// make runs the program that creates the data folder, and adds lines of settings.
func (c *Cluster) make(program *exec.Cmd, lines []string) error {
	if err := handOver(c.dir); err != nil {
		return err
	}
	program.Dir = c.dir
	if err := asServerUser(program); err != nil {
		return err
	}
	if out, err := program.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(program.Path), err, out)
	}
	conf, err := os.OpenFile(filepath.Join(c.dir, "data", "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(conf, "%s\nunix_socket_directories = '%s'\n", strings.Join(lines, "\n"), c.dir)
	return errors.Join(err, conf.Close())
}

func (c *Cluster) start(ctx context.Context, bin string, fill func(*Cluster, string) error) error {
	err := fill(c, bin)
	if err != nil {
		return err
	}
	keep := exec.Command("/bin/sh", "-c", keeper, "sh", bin, c.dir)
	keep.Dir = c.dir
	if err := asServerUser(keep); err != nil {
		return err
	}
	if c.leash, err = keep.StdinPipe(); err != nil {
		return err
	}
	says, err := keep.StdoutPipe()
	if err != nil {
		return err
	}
	c.says = bufio.NewReader(says)
	if err := keep.Start(); err != nil {
		return err
	}
	c.done = make(chan error, 1)
	go func() { c.done <- keep.Wait() }()
	return c.await(ctx)
}

// await waits until the server answers.
func (c *Cluster) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, c.URL("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-ctx.Done():
			return err
		case err := <-c.done:
			return fmt.Errorf("server ended: %w", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// binaries finds the folder of PostgreSQL's server programs, newest first.
func binaries() (string, error) {
	if p, err := exec.LookPath("initdb"); err == nil {
		if p, err = filepath.EvalSymlinks(p); err == nil {
			return filepath.Dir(p), nil
		}
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin/initdb", "/usr/pgsql-*/bin/initdb",
		"/opt/homebrew/opt/postgresql*/bin/initdb", "/usr/local/opt/postgresql*/bin/initdb",
	} {
		if found, err := filepath.Glob(pattern); err == nil && len(found) > 0 {
			slices.Sort(found)
			return filepath.Dir(found[len(found)-1]), nil
		}
	}
	return "", errors.New("initdb is neither on PATH nor in the usual places: install PostgreSQL or set HEARTH_TEST_POSTGRES_URL")
}
