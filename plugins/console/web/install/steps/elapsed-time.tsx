import { useEffect, useState } from 'react'

/** Minutes and seconds since a moment of the page's own clock; stands still when nothing runs. */
export function ElapsedTime({ since, isRunning }: { readonly since: number; readonly isRunning: boolean }) {
  const [now, setNow] = useState(() => performance.now())
  useEffect(() => {
    if (!isRunning) return
    const timer = setInterval(() => setNow(performance.now()), 1000)
    return () => clearInterval(timer)
  }, [isRunning])
  const seconds = Math.max(0, Math.round((now - since) / 1000))
  return (
    <span>
      {Math.floor(seconds / 60)}:{String(seconds % 60).padStart(2, '0')}
    </span>
  )
}
