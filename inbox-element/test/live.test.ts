/** Tests the realtime connection of an embedded inbox when its user changes. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { Live } from '../src/live.ts'

class FakeSocket {
  static readonly all: FakeSocket[] = []
  readonly token: string | undefined
  onopen: (() => void) | null = null
  onmessage: ((event: { readonly data: string }) => void) | null = null
  onclose: unknown = null
  isClosed = false

  constructor(_url: string, [, token]: readonly string[]) {
    this.token = token
    FakeSocket.all.push(this)
  }

  close(): void {
    this.isClosed = true
  }
}

/** Replaces members of the global object for a test. */
function useGlobals(t: Test, members: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(members)) {
    const before = Object.getOwnPropertyDescriptor(globalThis, name)
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true })
    t.teardown(() => {
      if (before === undefined) Reflect.deleteProperty(globalThis, name)
      else Object.defineProperty(globalThis, name, before)
    })
  }
}

t.test('a connection that opens after a restart is closed, because it is that of the user before', async (t) => {
  const document = Object.assign(new EventTarget(), { hidden: false })
  useGlobals(t, { document, navigator: { onLine: true }, WebSocket: FakeSocket, addEventListener() {} })
  const pushed: string[] = []
  let token = 'of ann'
  const api = { token: async () => token, socketUrl: () => 'wss://api.example', forget() {} }
  const events = { sync: async () => {}, push: (event: string) => void pushed.push(event), offline() {} }
  const live = new Live(api as never, events, () => true)
  t.teardown(() => live.stop())
  live.start()
  await nextTurn()
  live.stop()
  token = 'of ben'
  live.start()
  FakeSocket.all[0]?.onopen?.()
  await nextTurn()
  FakeSocket.all[1]?.onopen?.()
  for (const socket of FakeSocket.all) socket.onmessage?.({ data: `{"event":"${socket.token}"}` })
  const sockets = FakeSocket.all.map((socket) => [socket.token, socket.isClosed])
  t.same(
    { pushed, sockets },
    {
      pushed: ['of ben'],
      sockets: [
        ['of ann', true],
        ['of ben', false],
      ],
    },
  )
})
