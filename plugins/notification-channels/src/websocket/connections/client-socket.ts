import type { Clock } from '@plinth/kernel'
import type WebSocket from 'ws'
import { closeCodes, type WebsocketCaller } from '../contract.ts'

interface SocketBounds {
  /** Bytes that may wait to be read. */
  readonly maxBuffered: number
  /** Messages and pings of the client per second. */
  readonly maxMessageRate: number
}

const second = 1_000

/** One open connection: what may be written to it, and whether its client still answers. */
export class ClientSocket {
  readonly caller: WebsocketCaller
  /** Groups that it is in. */
  readonly groups = new Set<string>()
  /** Groups that are being asked for. */
  joining = 0
  readonly #ws: WebSocket
  readonly #bounds: SocketBounds
  readonly #clock: Pick<Clock, 'monotonic'>
  #isAnswered = true
  #secondBegan = Number.NEGATIVE_INFINITY
  #received = 0

  constructor(ws: WebSocket, caller: WebsocketCaller, bounds: SocketBounds, clock: Pick<Clock, 'monotonic'>) {
    this.#ws = ws
    this.caller = caller
    this.#bounds = bounds
    this.#clock = clock
    ws.on('pong', () => {
      this.#isAnswered = true
    })
  }

  get isOpen(): boolean {
    return this.#ws.readyState === this.#ws.OPEN
  }

  /** Hands a text to the connection; false when it takes none any more. A client that reads too slowly is disconnected. */
  send(text: string | Buffer): boolean {
    if (!this.isOpen) return false
    if (this.#ws.bufferedAmount > this.#bounds.maxBuffered) {
      this.close(closeCodes.tooSlow, 'too-slow')
      return false
    }
    this.#ws.send(text, { binary: false })
    return true
  }

  /** Counts what the client sent; false, and the connection closed, when that was too much. */
  takesOne(): boolean {
    const now = this.#clock.monotonic()
    if (now - this.#secondBegan >= second) {
      this.#secondBegan = now
      this.#received = 0
    }
    this.#received += 1
    if (this.#received <= this.#bounds.maxMessageRate) return true
    this.close(closeCodes.tooMany, 'too-many-messages')
    return false
  }

  /** Pings the client; cuts it when it has not answered the ping before. */
  beat(): void {
    if (!this.#isAnswered) {
      this.terminate()
      return
    }
    if (!this.isOpen) return
    this.#isAnswered = false
    this.#ws.ping()
  }

  /** Says goodbye; what has not ended some seconds later is cut by the library. */
  close(code: number, reason: string): void {
    if (this.isOpen) this.#ws.close(code, reason)
  }

  terminate(): void {
    this.#ws.terminate()
  }
}
