import { Skeleton } from '@mantine/core'
import classes from './waiting.module.css'

interface WaitingProps {
  readonly lines: number
  /** Of a line, in pixels. */
  readonly height: number
}

/** Lines in place of what is on its way. */
export const Waiting = ({ lines, height }: WaitingProps) => (
  <div className={classes.waiting} aria-hidden aria-busy>
    {Array.from({ length: lines }, (_, line) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: they differ in nothing else
      <Skeleton key={line} height={height} />
    ))}
  </div>
)
