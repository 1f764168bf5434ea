import { satisfies } from 'semver'
import { type CheckCode, type Finding, item, type PreflightItem } from './catalogue.ts'
import type { CheckContext } from './context.ts'

const mebibyte = 2 ** 20
/** With less the product does not start with all of its plugins. */
const leastHeap = 128 * mebibyte
const usualHeap = 256 * mebibyte
/** A clock outside of these years makes sessions, certificates and signatures fail. */
const sensibleTime = { from: Date.UTC(2025, 0, 1), to: Date.UTC(2100, 0, 1) }

/** What the documents name as runtime version, default character set and maximum heap (decision D.19), and the time. */
export async function runtimeChecks({ probes, nodeRange, clock }: CheckContext): Promise<PreflightItem[]> {
  const { nodeVersion, charset, icu, heapLimit, timeZone, unknownTimeZone } = probes.runtime()
  const isSupported = satisfies(nodeVersion, nodeRange, { includePrerelease: true })
  const now = clock.now()
  return [
    item('node-version', isSupported ? 'passed' : 'unsupported', { version: nodeVersion, range: nodeRange }),
    item('charset', charset === 'UTF-8' ? 'passed' : charset === '' ? 'unset' : 'other', { charset }),
    item('icu', icu === 'full' ? 'passed' : icu),
    item('heap-limit', sizeFinding(heapLimit, leastHeap, usualHeap), {
      size: Math.floor(heapLimit / mebibyte),
      least: leastHeap / mebibyte,
      usual: usualHeap / mebibyte,
    }),
    item('clock', now >= sensibleTime.from && now < sensibleTime.to ? 'passed' : 'wrong', {
      time: new Date(now).toISOString(),
    }),
    unknownTimeZone === undefined
      ? item('time-zone', 'passed', { zone: timeZone })
      : item('time-zone', 'unknown', { zone: unknownTimeZone, used: timeZone }),
  ]
}

type SizeCode = Extract<CheckCode, 'heap-limit' | 'disk-space'>

/** How bad a size is. */
export function sizeFinding(
  size: number,
  least: number,
  usual: number,
): Extract<Finding<SizeCode>, 'passed' | 'low' | 'too-low'> {
  return size < least ? 'too-low' : size < usual ? 'low' : 'passed'
}
