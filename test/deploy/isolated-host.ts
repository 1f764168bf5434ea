/**
 * Runs processes as a container engine or systemd runs them: another user, a read-only file system, and only the
 * declared directories writable. Uses a mount namespace and `chroot`, so it needs Linux and the user root.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'

const repository = join(import.meta.dirname, '..', '..')

/** Reason why this machine cannot run the processes, or false. */
export const skipIsolation =
  (process.platform !== 'linux' || spawnSync('unshare', ['--mount', 'true']).status !== 0) &&
  'needs Linux, the user root and mount namespaces'

export interface IsolatedHost {
  /** Empty directory on this machine for the root of the file system. */
  readonly directory: string
  /** Directories of this machine by their absolute path on the host. */
  readonly mounts: Readonly<Record<string, { readonly from: string; readonly writable: boolean }>>
  readonly user: number
  readonly workdir: string
  readonly environment: Readonly<Record<string, string>>
  /** Names that resolve to this machine, such as `postgres`. */
  readonly hostNames: readonly string[]
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

/** Directories of this machine that programs need: the system, and this repository with its packages. */
const systemMounts = ['/usr', '/etc', repository]

/** Starts a program on the host. Its first word is found with the `PATH` of the host. */
export function startOnHost(host: IsolatedHost, words: readonly string[], input?: string): ChildProcess {
  const { directory: root, mounts, user, workdir, environment, hostNames } = host
  const bind = (from: string, to: string, writable: boolean) => [
    `mkdir -p ${quoted(root + to)}`,
    `mount --rbind ${quoted(from)} ${quoted(root + to)}`,
    ...(writable ? [] : [`mount -o remount,bind,ro ${quoted(root + to)}`]),
  ]
  const hosts = join(root, 'hosts')
  const script = [
    'set -e',
    `mount -t tmpfs tmpfs ${quoted(root)}`,
    ...['bin', 'lib', 'lib64', 'sbin'].map((name) => `ln -s usr/${name} ${quoted(join(root, name))}`),
    ...systemMounts.flatMap((path) => bind(path, path, false)),
    `printf '127.0.0.1 localhost ${hostNames.join(' ')}\\n' > ${quoted(hosts)}`,
    `mount --bind ${quoted(hosts)} ${quoted(join(root, 'etc/hosts'))}`,
    // A system Node.js of another version must not run the product.
    `mount --bind ${quoted(process.execPath)} ${quoted(join(root, 'usr/bin/node'))}`,
    ...['/proc', '/dev'].flatMap((path) => bind(path, path, true)),
    `mkdir -m 1777 ${quoted(join(root, 'tmp'))}`,
    ...Object.entries(mounts).flatMap(([path, { from, writable }]) => bind(from, path, writable)),
    `mount -t tmpfs -o mode=1777 tmpfs ${quoted(join(root, 'tmp'))}`,
    `mount -o remount,ro ${quoted(root)}`,
    `cd ${quoted(root)}`,
    `exec env -i ${Object.entries(environment)
      .map(([name, value]) => quoted(`${name}=${value}`))
      .join(' ')} /usr/sbin/chroot --userspec=${user}:${user} --groups= ${quoted(root)} ` +
      `sh -c 'cd "$0" && exec "$@"' ${quoted(workdir)} ${words.map(quoted).join(' ')}`,
  ].join('\n')
  const child = spawn('unshare', ['--mount', 'sh', '-c', script], {
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  })
  child.stdin?.end(input)
  return child
}
