/**
 * Bytes of bodies, as they are stored, after which a page of a list ends early: a page may have a hundred elements of
 * the largest size otherwise.
 */
export const MAX_PAGE_BYTES = 4 * 1024 * 1024;
