/**
 * Starts a proxy with a configuration of `deploy/` in front of instances on this machine, and an HTTPS client for it.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { request } from 'node:https'
import { delimiter, join } from 'node:path'
import { freePort, until, watchProcess } from '@plinth/dev/testing'
import type { Test } from 'tap'
import { deployFile } from './deploy-files.ts'

const _root = join(import.meta.dirname, '..', '..')
/** Host name in the proxy configurations. */
export const host = 'shop.example.com'
/** Context path in the proxy configurations. */
export const contextPath = '/shop'

/** Returns the path of a program. `PATH` does not always contain the directory `/usr/sbin`. */
const findProgram = (name: string) =>
  [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin']
    .map((directory) => join(directory, name))
    .find((file) => existsSync(file))

interface Files {
  readonly directory: string
  readonly certificate: string
  readonly key: string
  /** Port of the proxy with TLS. */
  readonly port: number
  /** Port on which the proxy redirects to HTTPS. */
  readonly plainPort: number
  /** Ports of the instances. */
  readonly instances: readonly [string, string]
}

/**
 * Replaces strings in a configuration file.
 * @throws Error if the file does not contain one of the strings
 */
function replaced(text: string, replacements: Readonly<Record<string, string>>): string {
  return Object.entries(replacements).reduce((result, [from, to]) => {
    if (!result.includes(from)) throw new Error(`${from} is not in the configuration`)
    return result.replaceAll(from, to)
  }, text)
}

interface Proxy {
  readonly name: string
  readonly program: string | undefined
  /**
   * Writes the configuration of `deploy/` with ports and paths of this machine. Returns the command line arguments of
   * the program.
   */
  configure(files: Files): readonly string[]
  readonly environment?: (files: Files) => Readonly<Record<string, string>>
}

export const proxies: readonly Proxy[] = [
  {
    name: 'nginx',
    program: findProgram('nginx'),
    configure({ directory, certificate, key, port, plainPort, instances }) {
      const shipped = deployFile('deploy/nginx/shop.conf')
      const site = replaced(shipped, {
        '127.0.0.1:3000': instances[0],
        '127.0.0.1:3001': instances[1],
        'listen [::]:80 default_server;': '',
        'listen [::]:443 ssl default_server;': '',
        'listen 80 default_server;': `listen 127.0.0.1:${plainPort} default_server;`,
        'listen 443 ssl default_server;': `listen 127.0.0.1:${port} ssl default_server;`,
        'listen [::]:80;': '',
        'listen [::]:443 ssl http2;': '',
        'listen 80;': `listen 127.0.0.1:${plainPort};`,
        'listen 443 ssl http2;': `listen 127.0.0.1:${port} ssl http2;`,
        '/etc/ssl/shop/fullchain.pem': certificate,
        '/etc/ssl/shop/privkey.pem': key,
      })
      writeFileSync(join(directory, 'shop.conf'), site)
      const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
      const main = [
        'daemon off;',
        ...(process.getuid?.() === 0 ? ['user root;'] : []),
        `pid ${directory}/nginx.pid;`,
        'error_log stderr warn;',
        'events {}',
        'http {',
        'access_log off;',
        ...temporary.map((name) => `${name}_temp_path ${directory}/${name};`),
        `include ${directory}/shop.conf;`,
        '}',
      ]
      writeFileSync(join(directory, 'nginx.conf'), `${main.join('\n')}\n`)
      return ['-p', directory, '-c', join(directory, 'nginx.conf'), '-e', 'stderr']
    },
  },
  {
    name: 'Caddy',
    program: findProgram('caddy'),
    configure({ directory, certificate, key, port, plainPort }) {
      const shipped = deployFile('deploy/caddy/Caddyfile')
      const opening = `{$SITE:${host}} {`
      const site = replaced(shipped, { [opening]: `${opening}\n\ttls ${certificate} ${key}` })
      const global = ['admin off', `http_port ${plainPort}`, `https_port ${port}`, 'default_bind 127.0.0.1']
      writeFileSync(join(directory, 'Caddyfile'), `{\n\t${global.join('\n\t')}\n}\n${site}`)
      return ['run', '--config', join(directory, 'Caddyfile'), '--adapter', 'caddyfile']
    },
    environment: ({ directory, instances }) => ({
      HOME: directory,
      XDG_DATA_HOME: directory,
      XDG_CONFIG_HOME: directory,
      UPSTREAMS: instances.join(' '),
    }),
  },
]

export interface Response {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

interface Call {
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  /** Value that is sent as JSON. */
  readonly body?: object
  /** Text at which the call stops: when the response contains it, the call returns and closes the connection. */
  readonly untilText?: string
}

export interface RunningProxy {
  readonly port: number
  readonly plainPort: number
  readonly ca: string
  /** Returns all output of the proxy so far. */
  readonly output: () => string
  /**
   * Sends a request.
   * @throws Error if the connection fails
   */
  call(path: string, call?: Call): Promise<Response>
}

/** Starts a proxy in front of two instances. It is killed when the test ends. */
export async function startProxy(
  t: Pick<Test, 'teardown' | 'testdir'>,
  proxy: Proxy,
  urls: readonly [string, string],
): Promise<RunningProxy> {
  const directory = t.testdir()
  const [certificate, key] = [join(directory, 'certificate.pem'), join(directory, 'key.pem')]
  const subject = ['-subj', `/CN=${host}`, '-addext', `subjectAltName=DNS:${host}`]
  const words = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-keyout', key, '-out', certificate]
  execFileSync('openssl', [...words, ...subject], { stdio: 'ignore' })
  const files: Files = {
    directory,
    certificate,
    key,
    port: await freePort(),
    plainPort: await freePort(),
    instances: [new URL(urls[0]).host, new URL(urls[1]).host],
  }
  const child: ChildProcess = spawn(proxy.program ?? proxy.name, proxy.configure(files), {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...proxy.environment?.(files) },
  })
  const watched = watchProcess({ teardown: () => {} }, child)
  // The proxy is stopped with SIGTERM, because nginx would leave its worker processes running after SIGKILL.
  t.teardown(() => watched.end('SIGTERM'))
  const ca = readFileSync(certificate, 'utf8')
  const call = (path: string, options: Call = {}) => send({ ...options, path, port: files.port, ca })
  await until(async () => {
    if (child.exitCode !== null) throw new Error(watched.output())
    return (await call(`${contextPath}/health/live`).catch(() => undefined))?.status === 200
  }, `${proxy.name} serves`)
  return { port: files.port, plainPort: files.plainPort, ca, output: watched.output, call }
}

interface Sent extends Call {
  readonly path: string
  readonly port: number
  readonly ca: string
}

/** Each call has its own connection, so that a call fails only if the proxy or an instance fails. */
const send = ({ method = 'GET', path, port, ca, headers, body, untilText }: Sent) =>
  new Promise<Response>((resolve, reject) => {
    const json = body === undefined ? {} : { 'content-type': 'application/json' }
    const sent = request({
      method,
      path,
      port,
      ca,
      host: '127.0.0.1',
      servername: host,
      agent: false,
      timeout: 60_000,
      headers: { host, ...json, ...headers },
    })
    sent.on('error', reject)
    sent.on('timeout', () => sent.destroy(new Error(`${path}: no response within a minute`)))
    sent.on('response', (response) => {
      let text = ''
      const end = () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text })
      response.setEncoding('utf8').on('error', reject)
      response.on('end', end)
      response.on('data', (part: string) => {
        text += part
        if (untilText === undefined || !text.includes(untilText)) return
        end()
        sent.destroy()
      })
    })
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })
