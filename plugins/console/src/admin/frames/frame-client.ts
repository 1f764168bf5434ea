import type { FrameContext, FrameError, FrameHost } from '@plinth/admin'

interface Port {
  onmessage: ((event: { readonly data: string }) => void) | null
  postMessage(text: string): void
}

/** The part of the browser that the script of a frame uses. */
interface FrameWindow {
  readonly document: {
    readonly documentElement: {
      lang: string
      readonly style: { setProperty(name: string, value: string): void }
      getBoundingClientRect(): { readonly height: number }
    }
  }
  readonly parent: unknown
  readonly ResizeObserver: new (changed: () => void) => { observe(target: unknown): void }
  addEventListener(
    type: 'message',
    listener: (event: { readonly source: unknown; readonly ports: readonly Port[] }) => void,
  ): void
}

/** A message of the back office to a frame, as JSON. */
type FrameAnswer =
  | { readonly type: 'context'; readonly context: FrameContext }
  | { readonly type: 'result'; readonly id: number; readonly data: unknown }
  | { readonly type: 'error'; readonly id: number; readonly error: FrameError }

/**
 * Script at the beginning of each frame. It connects the frame to the back office and returns the global variable
 * `plinth`. The server sends its source text, so it must not use anything outside of this function.
 */
export function connectFrame(): FrameHost {
  const page = globalThis as unknown as FrameWindow
  // A peer connection is the only connection that the content security policy cannot prevent.
  for (const name of ['RTCPeerConnection', 'webkitRTCPeerConnection', 'mozRTCPeerConnection'])
    Reflect.deleteProperty(globalThis, name)
  const calls = new Map<
    number,
    { readonly resolve: (data: never) => void; readonly reject: (error: FrameError) => void }
  >()
  const listeners = new Set<(context: FrameContext) => void>()
  const waiting: object[] = []
  let port: Port | undefined
  let context: FrameContext | undefined
  let lastId = 0
  let height = 0
  let isMeasuring = false

  const send = (message: object) => {
    if (port === undefined) waiting.push(message)
    else port.postMessage(JSON.stringify(message))
  }
  const root = page.document.documentElement
  const measure = () => {
    isMeasuring = false
    const next = Math.ceil(root.getBoundingClientRect().height)
    if (next === height) return
    height = next
    send({ type: 'height', height })
  }
  const receive = (answer: FrameAnswer) => {
    if (answer.type === 'context') {
      context = answer.context
      root.lang = context.language
      root.style.setProperty('color-scheme', context.scheme)
      for (const [name, colour] of Object.entries(context.colours)) root.style.setProperty(`--plinth-${name}`, colour)
      for (const listener of listeners) listener(context)
      return
    }
    const call = calls.get(answer.id)
    calls.delete(answer.id)
    if (answer.type === 'result') call?.resolve(answer.data as never)
    else call?.reject(answer.error)
  }

  page.addEventListener('message', ({ source, ports: [received] }) => {
    if (source !== page.parent || received === undefined || port !== undefined) return
    port = received
    port.onmessage = ({ data }) => receive(JSON.parse(data))
    for (const message of waiting.splice(0)) send(message)
    measure()
    send({ type: 'ready' })
  })
  new page.ResizeObserver(() => {
    if (isMeasuring || port === undefined) return
    isMeasuring = true
    setTimeout(measure, 100)
  }).observe(root)

  return Object.freeze<FrameHost>({
    call: (operation, request = {}) =>
      new Promise((resolve, reject) => {
        lastId += 1
        calls.set(lastId, { resolve, reject })
        send({ type: 'call', id: lastId, operation, ...request })
      }),
    onContext(listener) {
      listeners.add(listener)
      if (context !== undefined) listener(context)
      return () => void listeners.delete(listener)
    },
    toast: (text) => send({ type: 'toast', text }),
  })
}
