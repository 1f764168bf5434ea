import { useComputedColorScheme } from '@mantine/core'
import { useEffect, useRef } from 'react'
import UPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import type { Column, Tone } from '../api/page-types.ts'
import { useFormats } from '../pages/shown-value.ts'
import { useZone } from '../shell/zone.ts'
import { axisWidth } from './axis-width.ts'
import type { ChartData } from './chart-data.ts'
import classes from './plot.module.css'

/** Height of the plot in pixels. */
const height = 180
const dayMs = 86_400_000

/** Dash patterns of lines with the same colour. */
const dashes = [[], [6, 4], [2, 3], [10, 3, 2, 3]] as const
export const dashOf = (turn: number): readonly number[] => dashes[turn % dashes.length] ?? []

const inks: Readonly<Record<Tone, string>> = {
  good: '--good',
  info: '--accent',
  warn: '--warn',
  bad: '--bad',
  quiet: '--edge-strong',
}

/** Possible steps of the value axis. They are whole numbers, because counts have no fractions. */
const wholeSteps = Array.from({ length: 13 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat()

/** Possible steps of the time axis in seconds. They are whole minutes or days, so that no label is shown twice. */
const minuteSteps = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720].map((minutes) => minutes * 60)
const daySteps = [1, 2, 3, 7, 14, 28, 56, 112, 364].map((days) => (days * dayMs) / 1000)

/** Returns the smallest distance between two times, in milliseconds. */
const stepOf = (moments: readonly number[]) =>
  Math.min(...moments.slice(1).map((moment, index) => moment - (moments[index] ?? 0)), dayMs)

/** Part of a step that its bars cover. */
const barShare = 0.8

/** Draws the bars of a line next to those of the other lines of the same time. */
function barsOf(index: number, count: number, stepSeconds: number): Pick<UPlot.Series, 'paths'> {
  const width = (stepSeconds * barShare) / count
  const shift = index * width - (stepSeconds * barShare) / 2
  const paths = UPlot.paths.bars?.({
    disp: {
      x0: { unit: 1, values: (plot) => (plot.data[0] as number[]).map((moment) => moment + shift) },
      size: { unit: 1, values: (plot) => (plot.data[0] as number[]).map(() => width) },
    },
  })
  return paths === undefined ? {} : { paths }
}

interface PlotProps {
  readonly data: ChartData
  readonly unit: Column['unit']
  /** True for bars next to each other, instead of lines. */
  readonly isBar: boolean
  /** Called with the index of the time under the pointer, and with `undefined` when the pointer leaves the plot. */
  onPoint(place: number | undefined): void
}

/** Draws the lines of a chart. The plot is hidden from screen readers, because a table contains the same numbers. */
export function Plot({ data, unit, isBar, onPoint }: PlotProps) {
  const place = useRef<HTMLDivElement>(null)
  const formats = useFormats()
  const timeZone = useZone().name
  const scheme = useComputedColorScheme()
  // biome-ignore lint/correctness/useExhaustiveDependencies: the effect reads colours from the page, which depend on the scheme
  useEffect(() => {
    const element = place.current
    if (element === null) return
    const style = getComputedStyle(element)
    const ink = (name: string) => style.getPropertyValue(name).trim()
    const lines = data.lines.slice(0, data.drawn)
    const [first = 0, last = 0] = [data.moments[0], data.moments.at(-1)]
    // A bar has half a step of space on both sides.
    const stepMs = stepOf(data.moments)
    const margin = isBar ? stepMs / 2 : first === last ? 60_000 : 0
    const isLong = data.isDaily || last - first > 2 * dayMs
    const axis = {
      stroke: ink('--mantine-color-dimmed'),
      font: `11px ${style.fontFamily}`,
      grid: { stroke: ink('--edge'), width: 1 },
      ticks: { stroke: ink('--edge'), width: 1 },
    }
    const plot = new UPlot(
      {
        width: Math.max(1, element.clientWidth),
        height,
        legend: { show: false },
        cursor: { y: false, drag: { x: false, y: false } },
        tzDate: (seconds) => UPlot.tzDate(new Date(seconds * 1000), data.isDaily ? 'UTC' : timeZone),
        scales: {
          x: { range: () => [(first - margin) / 1000, (last + margin) / 1000] },
          y: { range: (_, __, max) => [0, Math.max(1, max * 1.05)] },
        },
        axes: [
          {
            ...axis,
            space: 70,
            incrs: isLong ? daySteps : minuteSteps,
            values: (_, moments) =>
              moments.map((seconds) => {
                const moment = new Date(seconds * 1000)
                return isLong ? formats.day(moment, data.isDaily) : formats.minute(moment)
              }),
          },
          {
            ...axis,
            size: ({ ctx }, labels) => {
              ctx.font = axis.font
              return axisWidth(labels ?? [], (text) => ctx.measureText(text).width)
            },
            ...(unit === undefined ? { incrs: wholeSteps } : {}),
            values: (_, numbers) => numbers.map((number) => formats.axis(number, unit)),
          },
        ],
        series: [
          {},
          ...lines.map(({ title, tone, turn }, index) => ({
            label: title,
            stroke: ink(inks[tone]),
            width: 2,
            dash: [...dashOf(turn)],
            points: { show: !isBar, size: 5, fill: ink(inks[tone]) },
            ...(isBar ? { fill: ink(inks[tone]), ...barsOf(index, lines.length, stepMs / 1000) } : {}),
          })),
        ],
        hooks: { setCursor: [({ cursor }) => onPoint(cursor.idx ?? undefined)] },
      },
      [data.moments.map((moment) => moment / 1000), ...lines.map(({ values }) => [...values])],
      element,
    )
    const watch = new ResizeObserver(() => plot.setSize({ width: Math.max(1, element.clientWidth), height }))
    watch.observe(element)
    return () => {
      watch.disconnect()
      onPoint(undefined)
      plot.destroy()
    }
  }, [data, unit, isBar, formats, timeZone, scheme, onPoint])
  return <div ref={place} className={classes.plot} aria-hidden="true" />
}
