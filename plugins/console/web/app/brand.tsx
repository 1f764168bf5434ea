import classes from './brand.module.css'
import { siteName } from './site-name.ts'

export function Brand() {
  return (
    <div className={classes.brand}>
      <svg viewBox="0 0 32 32" width="32" height="32" aria-hidden="true">
        <rect width="32" height="32" rx="8" className={classes.ground} />
        <path className={classes.mark} d="M10 7h12v3H10zM12 11.5h8v7h-8zM9 20h14v2.5H9zM7 24h18v2.5H7z" />
      </svg>
      <span className={classes.name}>{siteName}</span>
    </div>
  )
}
