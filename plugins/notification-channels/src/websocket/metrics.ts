import { Counter, Gauge, type Registry } from 'prom-client'
import { closeCodes, type Presence } from './contract.ts'

export interface SocketMetrics {
  /** Counts a push that was sent to this number of connections. */
  handed(sockets: number): void
  /** Counts a push that was dropped, because too many were waiting. */
  dropped(): void
  closed(code: number): void
}

/** Close codes with their own label value. Clients may send any code, so all other codes share one value. */
const knownCodes: readonly number[] = [1000, 1001, 1003, 1005, 1006, 1007, 1009, ...Object.values(closeCodes)]

const prefix = 'platform_notification_websocket'

export function socketMetrics(registry: Registry | undefined, presence: Presence): SocketMetrics {
  if (registry === undefined) return { handed() {}, dropped() {}, closed() {} }
  const registers = [registry]
  new Gauge({
    name: `${prefix}_sockets`,
    help: 'Open WebSocket connections by caller',
    labelNames: ['caller'],
    registers,
    collect() {
      this.set({ caller: 'guest' }, presence.guests)
      this.set({ caller: 'user' }, presence.sockets - presence.guests)
    },
  })
  const events = new Counter({ name: `${prefix}_events_total`, help: 'Events handed to connections', registers })
  const dropped = new Counter({ name: `${prefix}_dropped_total`, help: 'Pushes that were given up', registers })
  const closed = new Counter({
    name: `${prefix}_closed_total`,
    help: 'Connections that ended, by close code',
    labelNames: ['code'],
    registers,
  })
  return {
    handed: (sockets) => events.inc(sockets),
    dropped: () => dropped.inc(),
    closed: (code) => closed.inc({ code: knownCodes.includes(code) ? String(code) : 'other' }),
  }
}
