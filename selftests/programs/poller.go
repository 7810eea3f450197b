// SPDX-License-Identifier: GPL-2.0

// poller moves data through many sessions from goroutines. Go's runtime puts the files
// into its own epoll instance; a goroutine that waits must not hold a thread.
//
//	poller serve DEV N    accept N sessions, send back what each sends
//	poller call DEV N     N sessions at once: send, half-close, compare the answer
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"os"
	"runtime/pprof"
	"strconv"
	"sync"
	"syscall"
	"time"
)

const (
	shutdown = 0xBB01 // RCHAR_IOC_SHUTDOWN of linux/rdma_char.h
	shutWr   = 2
)

func halfClose(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	return conn.Control(func(fd uintptr) {
		_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, shutdown, shutWr)
		if errno != 0 {
			err = errno
		}
	})
}

func echo(f *os.File) error {
	defer f.Close()
	if _, err := io.Copy(f, struct{ io.Reader }{f}); err != nil {
		return err
	}
	return halfClose(f)
}

func call(dev string, number int, open *sync.WaitGroup) error {
	f, err := os.OpenFile(dev, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	// A deadline works only on files that the poller watches.
	f.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if _, err := f.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("no deadline: %v", err)
	}
	f.SetReadDeadline(time.Time{})
	// All wait in Read at once.
	open.Done()
	sent := make([]byte, 50000+number)
	rand.New(rand.NewSource(int64(number))).Read(sent)
	go func() {
		open.Wait()
		time.Sleep(200 * time.Millisecond)
		f.Write(sent)
		halfClose(f)
	}()
	got, err := io.ReadAll(f)
	if err == nil && !bytes.Equal(got, sent) {
		err = fmt.Errorf("session %d: sent %d, got %d", number, len(sent), len(got))
	}
	return err
}

func main() {
	dev := os.Args[2]
	n, _ := strconv.Atoi(os.Args[3])
	var open, done sync.WaitGroup

	for i := 0; i < n; i++ {
		var work func() error
		number := i
		if os.Args[1] == "serve" {
			f, err := os.OpenFile(dev, os.O_RDWR, 0)
			if err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
			work = func() error { return echo(f) }
		} else {
			open.Add(1)
			work = func() error { return call(dev, number, &open) }
		}
		done.Add(1)
		go func() {
			defer done.Done()
			if err := work(); err != nil {
				fmt.Println(err)
				os.Exit(1) // the others may wait for this one
			}
		}()
	}
	done.Wait()
	fmt.Println(n, "sessions", pprof.Lookup("threadcreate").Count(), "threads")
}
