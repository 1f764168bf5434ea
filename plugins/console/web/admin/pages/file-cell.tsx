import { IconFile } from '@tabler/icons-react'
import { useState } from 'react'
import { useLanguage } from '../../app/app.tsx'
import type { StoredFile } from '../api/page-types.ts'
import classes from './file-cell.module.css'

interface FileLinkProps {
  readonly file: StoredFile
  /** True if a picture may use the width of the page. */
  readonly isWide: boolean
}

/** File names of pictures that every browser shows. */
const picture = /\.(?:avif|gif|jpe?g|png|webp)$/i

/** Shows a picture, or a link to any other file. A picture that cannot be loaded is shown as a link, too. */
export function FileLink({ file: { name, url }, isWide }: FileLinkProps) {
  const { translate } = useLanguage()
  const [hasFailed, setFailed] = useState(false)
  // The server may only link to itself or to another site, never to a script.
  if (!/^(?:https?:\/)?\/[^\\]/i.test(url)) return <span>{name}</span>
  const isPicture = picture.test(name) && !hasFailed
  return (
    <a href={url} target="_blank" rel="noopener noreferrer" className={classes.file} title={name}>
      {isPicture ? (
        <img
          src={url}
          alt={name}
          loading="lazy"
          className={isWide ? classes.picture : classes.small}
          onError={() => setFailed(true)}
        />
      ) : (
        <>
          <IconFile size={16} aria-hidden />
          <span>{name}</span>
        </>
      )}
      <span className="visually-hidden">{translate('admin.opens-elsewhere')}</span>
    </a>
  )
}
